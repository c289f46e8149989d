import fs from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { bench } from '../support/turns.js';

/** What happens to the file next: where lines come and go, as shares of its length. */
const anyEvent = fc.record({
  kind: fc.constantFrom(
    'turn',
    'turn',
    'turn',
    'outside',
    'rewind',
    'rewind',
    'merge',
    'redo',
    'gone',
  ),
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  remove: fc.nat(2),
  add: fc.nat(2),
  pick: fc.nat(3),
});

/** No line is ever written twice, and each begins with the name of who writes it. */
test('whatever turns, rewinds and others do to a file, each line is told with who wrote it', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyEvent, { minLength: 3, maxLength: 9 }), async (events) => {
      const at = bench({ 'a.txt': ['1', '2', '3', '4'].map((n) => `before ${n}\n`).join('') });
      const file = path.join(at.root, 'a.txt');
      let lines = 4;
      const edit = (who: string, event: (typeof events)[number]): void => {
        const now = fs.existsSync(file) ? (fs.readFileSync(file, 'utf8').match(/.*\n/g) ?? []) : [];
        if (event.kind === 'gone') {
          fs.rmSync(file, { force: true });
          return;
        }
        const added = Array.from({ length: event.add }, () => `${who} ${++lines}\n`);
        now.splice(Math.floor(event.at * now.length), event.remove, ...added);
        fs.writeFileSync(file, now.join(''));
      };
      let turns = 0;
      for (const event of events) {
        // What others did before a turn wrote the file was before: no history tells more of it.
        if (turns === 0 && (event.kind !== 'turn' || event.add === 0)) continue;
        switch (event.kind) {
          case 'turn':
          case 'gone': {
            const id = `t${++turns}`;
            await at.turn(id, () => edit(id, event));
            break;
          }
          case 'outside':
            edit('outside', event);
            break;
          case 'rewind':
          case 'merge': {
            const turn = `t${turns - event.pick}`;
            const merge = event.kind === 'merge';
            await at.with((store) => store.rewind({ turn, merge })).catch(() => {});
            break;
          }
          case 'redo':
            await at.redo().catch(() => {});
        }
        if (turns === 0 || !fs.existsSync(file)) continue;
        const told = at.with((store) => store.blame(file));
        if (told.kind !== 'lines') throw new Error(told.reason);
        const wrong = told.lines.filter(({ origin, text }) => {
          const who = origin.kind === 'turn' ? origin.turn : origin.kind;
          return who !== text.split(' ')[0];
        });
        expect(wrong).toEqual([]);
      }
    }),
    { numRuns: 25 },
  );
}, 120_000);
