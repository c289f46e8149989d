import fs from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { expect } from 'vitest';
import { testWith } from '../support/machine.js';
import { inSoak } from '../support/soak.js';
import { WATCHMAN, watchman } from '../support/watchman.js';
import { Watched } from './workspace.js';

const NAMES = ['a', 'b', 'c', 'caf\xe9'];
const ANY_PATH = fc
  .array(fc.constantFrom(...NAMES), { minLength: 1, maxLength: 4 })
  .map((names) => names.join('/'));

/** One thing that somebody does, whatever stands at the paths that it names. */
const ANY_ACT = fc.record({
  what: fc.constantFrom(
    ...([
      'write',
      'write',
      'write',
      'append',
      'chmod',
      'rename',
      'swap',
      'remove',
      'make',
    ] as const),
    ...(['link', 'name', 'truncate'] as const),
  ),
  path: ANY_PATH,
  other: ANY_PATH,
  text: fc.string({ minLength: 1, maxLength: 3 }),
});
type Act = typeof ANY_ACT extends fc.Arbitrary<infer T> ? T : never;

/** Does it where that can be done; what the system refuses is not done. */
function act(root: string, { what, path: name, other, text }: Act): void {
  const at = (relative: string) => Buffer.from(path.join(root, relative), 'latin1');
  try {
    switch (what) {
      case 'write':
        fs.writeFileSync(at(name), text);
        break;
      case 'append':
        fs.appendFileSync(at(name), text);
        break;
      case 'truncate':
        fs.truncateSync(at(name), 1);
        break;
      case 'chmod':
        fs.chmodSync(at(name), 0o700 | (text.charCodeAt(0) & 0o77));
        break;
      case 'rename':
        fs.renameSync(at(name), at(other));
        break;
      case 'swap':
        fs.renameSync(at(name), at('swapped'));
        fs.renameSync(at(other), at(name));
        fs.renameSync(at('swapped'), at(other));
        break;
      case 'remove':
        fs.rmSync(at(name), { recursive: true });
        break;
      case 'make':
        fs.mkdirSync(at(name), { recursive: true });
        break;
      case 'link':
        fs.symlinkSync(at(other), at(name));
        break;
      case 'name':
        fs.linkSync(at(name), at(other));
        break;
    }
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error;
  }
}

testWith(
  [WATCHMAN],
  'an opening through watchman is what a scan of every file is, whatever was done',
  async () => {
    const server = await watchman();
    const rounds = fc.array(ANY_ACT, { minLength: 1, maxLength: 12 });
    let through = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(rounds, { minLength: 3, maxLength: 8 }), async (lives) => {
        const ws = new Watched({ a: { a: { a: '1', b: '2' } }, b: { a: '3', b: { c: '4' } } });
        await ws.settle();
        for (const acts of lives) {
          for (const each of acts) act(ws.root, each);
          const turn = await ws.open();
          expect(ws.wrong()).toEqual([]);
          if (ws.how().named !== null) through += 1;
          for (const each of acts.slice(0, 2)) act(ws.root, each);
          await turn.close();
        }
        server.tell('watch-del', ws.root);
      }),
      { numRuns: inSoak(300, 12) },
    );
    expect(through).toBeGreaterThan(0);
  },
  inSoak(1_200_000, 300_000),
);
