import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { openStore, PreimageError, verifyStore } from '../../src/index.js';
import { readLog } from '../../src/store/log.js';
import { runProcess } from '../support/cli.js';
import { inSoak, tell } from '../support/soak.js';
import { snapshot, temporary, tree } from '../support/tree.js';

const PROCESSES = 5;
const STEPS = inSoak(40, 6);

/** What a worker says; see `programs/worker.mjs`. */
type Said = {
  readonly did: 'step' | 'rewind' | 'conflict' | 'redo' | 'prune' | 'busy';
  readonly turn: string;
  readonly before: string | null;
  readonly after: string;
  readonly wanted: string | null;
  readonly now: string | null;
  readonly paths: readonly string[];
};

test(
  `${PROCESSES} processes open and close ${PROCESSES * STEPS} steps together, one of them rewinds and prunes, and nothing is lost`,
  async () => {
    const base = temporary();
    const names = Array.from({ length: PROCESSES }, (_, i) => `p${i}`);
    const own = Object.fromEntries(names.map((name) => [name, {}]));
    const root = tree(join(base, 'ws'), { shared: '', 'old.txt': 'old', ...own });
    const which = { root, store: join(base, 'store'), cwd: root };
    const before = snapshot(root);
    const all = await Promise.all(
      names.map((name, i) => work(which, name, i === 0 ? 'rewinds' : 'works')),
    );
    const said = all.flat();
    const steps = said.filter(({ did }) => did === 'step');
    expect(steps).toHaveLength(PROCESSES * STEPS);
    expect(said.some(({ did }) => did === 'prune')).toBe(true);
    for (const { did, turn, wanted, now } of said) {
      if (did === 'step' || did === 'prune' || did === 'busy') continue;
      expect([did, turn, now]).toEqual([did, turn, wanted]);
    }
    expect(readLog(join(which.store, 'log')).torn).toBe(false);
    const store = openStore(which);
    const turns = store.list();
    expect(turns.map(({ turn }) => turn).sort()).toEqual(steps.map(({ turn }) => turn).sort());
    expect(turns.every(({ status }) => status === 'closed')).toBe(true);
    // Each turn saw its own work as it was, and each step of others that it names was open meanwhile.
    let overlaps = 0;
    for (const { turn, before: wanted, after, paths } of steps) {
      const report = store.show(turn);
      const own = `${turn.split('-')[0]}/file`;
      expect(paths).toContain('shared');
      const change = report.files.find(({ path }) => path === own);
      const text = (image: typeof change extends infer C ? C : never, side: 'before' | 'after') => {
        const { [side]: it } = image ?? {};
        if (it?.kind !== 'content' || it.type !== 'file') return it?.kind === 'absent' ? null : it;
        return store.read(it).toString();
      };
      expect([turn, text(change, 'before'), text(change, 'after')]).toEqual([turn, wanted, after]);
      for (const other of report.overlaps) {
        expect(store.show(other).overlaps).toContain(turn);
        overlaps += 1;
      }
    }
    expect(overlaps).toBeGreaterThan(0);
    const back = await rewindAll(which, turns.length);
    expect(snapshot(root)).toEqual(before);
    store.close();
    expect(verifyStore(which)).toMatchObject({ whole: true, findings: [] });
    const count = (wanted: Said['did']): number => said.filter(({ did }) => did === wanted).length;
    tell('many processes together', {
      processes: PROCESSES,
      steps: steps.length,
      overlaps,
      busy: count('busy'),
      conflicts: count('conflict'),
      rewinds: count('rewind') + count('redo') + back,
      prunes: count('prune'),
      lost: 0,
    });
  },
  inSoak(300_000, 60_000),
);

/** Rewinds turn by turn, newest first, with what others changed as well. */
async function rewindAll(which: Parameters<typeof openStore>[0], most: number): Promise<number> {
  const store = openStore(which);
  try {
    for (let count = 0; count <= most; count++) {
      await store.rewind({ force: true });
    }
    throw new Error('there is no end of turns to rewind');
  } catch (error) {
    if (error instanceof PreimageError && error.code === 'nothing-to-do') return most;
    throw error;
  } finally {
    store.close();
  }
}

async function work(
  { root, store }: { readonly root: string; readonly store: string },
  name: string,
  how: 'rewinds' | 'works',
): Promise<Said[]> {
  const program = fileURLToPath(new URL('./programs/worker.mjs', import.meta.url));
  const library = fileURLToPath(new URL('../../dist/index.js', import.meta.url));
  const words = [program, library, root, store, name, String(STEPS), how];
  const run = await runProcess(process.execPath, words, { cwd: root, env: process.env });
  expect([name, run.code, run.stderr]).toEqual([name, 0, '']);
  return run.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
}
