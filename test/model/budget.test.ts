import fs from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { openStore, openTurn, type RewindResult, verifyStore } from '../../src/index.js';
import { slowDown, timeFor } from '../support/slow-clock.js';
import { inSoak } from '../support/soak.js';
import { snapshot, temporary } from '../support/tree.js';
import { absolute, readDisk } from './disk.js';
import { LEFT_OUT } from './oracle.js';
import { anyMaking, anyOperation, type Operation, runShell } from './shell.js';

/*
 * A turn for whose opening there was no time for everything: whatever it did, each path is as it was,
 * or is named. `rewrite` is left out, for it is the stated limit: a file that was never copied, renamed
 * and written in one turn with its time put back.
 */

const LIVES = Number(process.env.PREIMAGE_LIVES ?? inSoak(2000, 40));

const anyLife = fc.record({
  makings: fc.array(anyMaking, { minLength: 3, maxLength: 15, size: 'max' }),
  /** How many files each opening has time for; the last is that of the turn. */
  openings: fc.array(fc.nat({ max: 3 }), { minLength: 1, maxLength: 3 }),
  operations: fc.array(
    anyOperation.filter(({ op }) => op !== 'rewrite'),
    { minLength: 1, maxLength: 8, size: 'max' },
  ),
});

let skipped = 0;
let complete = 0;

beforeEach(slowDown);
afterEach(() => {
  vi.restoreAllMocks();
});

test('whatever a turn does that had no time for all, a path is as it was, or it is named', async () => {
  const base = temporary();
  let lives = 0;
  await fc.assert(
    fc.asyncProperty(anyLife, (life) => live(life, join(base, String(++lives)))),
    { numRuns: LIVES },
  );
  expect(skipped).toBeGreaterThan(LIVES / 10);
  expect(complete).toBeGreaterThan(LIVES / 10);
}, 3_600_000);

async function live(
  life: {
    readonly makings: readonly Operation[];
    readonly openings: readonly number[];
    readonly operations: readonly Operation[];
  },
  base: string,
): Promise<void> {
  const place = { root: join(base, 'ws'), outside: join(base, 'outside') };
  for (const directory of Object.values(place)) fs.mkdirSync(directory, { recursive: true });
  runShell(place, life.makings);
  giveEachATime(place.root);
  const at = { root: place.root, store: join(base, 'store') };
  for (const files of life.openings.slice(0, -1)) {
    await (await openTurn({ ...at, budget: timeFor(files) })).close();
  }
  const before = snapshot(at.root);
  const turn = await openTurn({ ...at, turn: 'last', budget: timeFor(life.openings.at(-1) ?? 0) });
  runShell(place, life.operations);
  await turn.close();
  const after = snapshot(at.root);
  const store = openStore(at);
  const result = await store.rewind({ turn: 'last' }).catch(nothingChanged);
  if (result !== 'nothing') {
    judge(result, before, snapshot(at.root));
    const changed = result.outcomes.some(({ outcome }) =>
      ['restored', 'deleted'].includes(outcome),
    );
    if (changed) await store.redo();
    expect(snapshot(at.root)).toEqual(after);
  }
  store.close();
  expect(await verifyStore(at)).toMatchObject({ whole: true });
  fs.rmSync(base, { recursive: true });
}

function judge(
  { outcomes, complete: isComplete }: RewindResult,
  before: Readonly<Record<string, string>>,
  now: Readonly<Record<string, string>>,
): void {
  const left = outcomes.filter(({ outcome }) => !DONE.has(outcome));
  skipped += left.length > 0 ? 1 : 0;
  complete += left.length > 0 ? 0 : 1;
  expect(isComplete).toBe(left.length === 0);
  const named = left.map(({ path }) => path);
  // Below a directory that is left out nothing is seen.
  const isNamed = (path: string) =>
    path.split('/').includes(LEFT_OUT) ||
    named.some((name) => path === name || path.startsWith(`${name}/`));
  const unnamed = (seen: Readonly<Record<string, string>>) =>
    Object.fromEntries(Object.entries(seen).filter(([path]) => !isNamed(path)));
  expect(unnamed(now)).toEqual(unnamed(before));
}

const DONE: ReadonlySet<string> = new Set(['restored', 'deleted', 'unchanged']);

function nothingChanged(error: unknown): 'nothing' {
  expect(error).toMatchObject({ code: 'nothing-to-do' });
  return 'nothing';
}

/** No two files of a workspace have the same time, as `write` gives it to them. */
function giveEachATime(root: string): void {
  let time = 1_500_000_000;
  for (const [path, { kind }] of readDisk(root)) {
    if (kind !== 'file') continue;
    fs.utimesSync(absolute(root, path), time, time);
    time += 1000;
  }
}
