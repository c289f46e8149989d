import { type ChildProcess, spawn } from 'node:child_process';
import fs from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished } from 'vitest';
import { openStore, openTurn, PreimageError } from '../../src/index.js';
import { LINUX, testWith } from '../support/machine.js';
import { inSoak, tell } from '../support/soak.js';
import { type Entry, snapshot, temporary, tree } from '../support/tree.js';

const SECONDS = inSoak(10, 2);
const FILES = ['a', 'b', 'c', 'd'];
const files = (data: string): Record<string, Entry> =>
  Object.fromEntries(FILES.map((name) => [name, data]));

// On systems without descriptor paths a window is left; `files/tree.ts` names it.
testWith(
  [LINUX],
  'directories that are swapped for links while rewinds run lead nothing outside',
  async () => {
    const base = temporary();
    const [root, outside] = [join(base, 'ws'), join(base, 'outside')];
    const dirs = { one: { ...files('old'), deep: files('old') }, two: files('old') };
    tree(root, { ...dirs, three: files('old') });
    // What stands outside looks as the turn has left it: it would be taken for the turn's work.
    const lure = { ...files('new'), made: 'new', deep: { ...files('new'), made: 'new' } };
    tree(outside, { one: lure, two: lure, three: lure });
    const which = { root, store: join(base, 'store'), cwd: root };
    const turn = await openTurn({ ...which, turn: 'x' });
    for (const directory of ['one', 'one/deep', 'two', 'three']) {
      tree(join(root, directory), { ...files('new'), made: 'new' });
      fs.rmSync(join(root, directory, 'd'));
      fs.chmodSync(join(root, directory, 'c'), 0o600);
    }
    await turn.close();
    const before = withTimes(outside);
    const swapper = await startSwapper(root, outside, ['one', 'one/deep', 'two', 'three']);
    const counts = { rewinds: 0, done: 0, conflicts: 0 };
    const end = performance.now() + SECONDS * 1000;
    const deadline = end + 30_000;
    const store = openStore(which);
    try {
      const enough = (): boolean => counts.done > 0 && counts.conflicts > 0;
      for (let now = performance.now(); now < (enough() ? end : deadline); ) {
        for (const run of [store.rewind.bind(store, { turn: 'x', force: true }), redo(store)]) {
          const outcomes = await outcomesOf(run);
          counts.rewinds += 1;
          counts.done += outcomes.filter((each) => /restored|deleted/.test(each)).length;
          counts.conflicts += outcomes.filter((each) => each === 'conflict').length;
          expect(withTimes(outside)).toEqual(before);
        }
        now = performance.now();
      }
    } finally {
      store.close();
    }
    expect(counts.done, 'rewinds that came through').toBeGreaterThan(0);
    expect(counts.conflicts, 'rewinds that met a link').toBeGreaterThan(0);
    const swaps = await swapper.stop();
    for (const [path, text] of Object.entries(snapshot(root))) {
      if (text.startsWith('link')) expect.fail(`a link is left at ${path}`);
      if (text.startsWith('file')) expect(fs.readFileSync(join(root, path), 'utf8')).toMatch(WHOLE);
    }
    tell('parents swapped for links', { swaps, ...counts, 'changed outside': 0 });
  },
  60_000,
);

const WHOLE = /^(old|new)$/;

function redo(store: ReturnType<typeof openStore>): () => ReturnType<typeof store.redo> {
  return () => store.redo({ force: true });
}

async function outcomesOf(run: () => Promise<{ outcomes: readonly { outcome: string }[] }>) {
  try {
    return (await run()).outcomes.map(({ outcome }) => outcome);
  } catch (error) {
    // `nothing-to-do`: all is rewound already, or nothing is left to redo.
    if (error instanceof PreimageError && error.code === 'nothing-to-do') return [];
    throw error;
  }
}

function withTimes(root: string): Record<string, string> {
  return Object.fromEntries(
    Object.entries(snapshot(root)).map(([name, text]) => {
      const { mtimeNs, ctimeNs, ino } = fs.lstatSync(join(root, name), { bigint: true });
      return [name, `${text} ${ino} ${mtimeNs} ${ctimeNs}`];
    }),
  );
}

async function startSwapper(root: string, outside: string, directories: readonly string[]) {
  const program = fileURLToPath(new URL('./programs/swap.mjs', import.meta.url));
  const child: ChildProcess = spawn(process.execPath, [program, root, outside, ...directories]);
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  const said = (): Promise<string> =>
    new Promise((resolve, reject) => {
      child.stdout?.once('data', (data: Buffer) => resolve(data.toString()));
      child.once('exit', (code) => reject(new Error(`the swapper ended with ${code}`)));
    });
  expect(await said()).toBe('swapping\n');
  return {
    stop: async (): Promise<number> => {
      child.stdin?.end('stop\n');
      return Number(await said());
    },
  };
}
