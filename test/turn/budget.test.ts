import fs from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import {
  type OpenTurnOptions,
  openStore,
  openTurn,
  type RewindResult,
  verifyStore,
  workspaceStatus,
} from '../../src/index.js';
import { slowDown, timeFor } from '../support/slow-clock.js';
import { type Entry, snapshot, symlink, temporary, tree } from '../support/tree.js';

const OVER = 'over the time budget';
const YEAR_MS = 365 * 24 * 60 * 60 * 1000;

beforeEach(slowDown);
afterEach(() => {
  vi.restoreAllMocks();
});

/** A workspace in which everything is new but the files of `old`, the smallest of them first. */
function workspace(entries: Record<string, Entry>, old: Record<string, string>) {
  const base = temporary();
  const root = tree(join(base, 'ws'), entries);
  for (const [name, text] of Object.entries(old)) {
    tree(root, { [name]: text });
    const time = new Date(Date.now() - 3 * YEAR_MS);
    fs.utimesSync(join(root, name), time, time);
  }
  settle(base);
  return { root, store: join(base, 'store') };
}

type At = ReturnType<typeof workspace>;

/** Lets the file system's clock tick: what was written in this tick is racy, and no stamp of it counts. */
function settle(base: string): void {
  const tick = join(base, 'tick');
  fs.writeFileSync(tick, '');
  const now = () => fs.lstatSync(tick, { bigint: true }).ctimeNs;
  for (const start = now(); now() === start; ) fs.utimesSync(tick, new Date(), new Date());
}

/** Runs one turn for whose opening there is time to copy so many files. */
async function turn(at: At, id: string, files: number, change: () => void = () => {}) {
  const opened = await openTurn({ ...at, turn: id, budget: timeFor(files) });
  change();
  return { ...(await opened.close()), warnings: opened.warnings };
}

async function rewound(at: At, id: string): Promise<RewindResult> {
  const store = openStore(at);
  try {
    return await store.rewind({ turn: id });
  } finally {
    store.close();
  }
}

const outcomesOf = ({ outcomes }: RewindResult) =>
  Object.fromEntries(outcomes.map(({ path, outcome }) => [path, outcome]));

test('a rewind restores what was copied, leaves the rest as it is, and names it', async () => {
  const at = workspace({ a: 'a', b: 'b', link: symlink('a') }, { 'old/1': '1', 'old/22': '22' });
  const before = snapshot(at.root);
  const { changes, warnings } = await turn(at, 't', 3, () => {
    for (const name of ['a', 'b', 'old/1', 'old/22']) {
      fs.appendFileSync(join(at.root, name), 'changed');
    }
    fs.rmSync(join(at.root, 'link'));
  });
  expect(warnings).toEqual([
    '1 file (2 B) was not copied in time: over the time budget of 5ms; ' +
      'what this turn does to it may not be undone',
  ]);
  expect(changes.map(({ path }) => path)).toEqual(['a', 'b', 'link', 'old/1', 'old/22']);
  const left = snapshot(at.root)['old/22'];
  const result = await rewound(at, 't');
  expect(result.complete).toBe(false);
  expect(result.outcomes.at(-1)).toEqual({ path: 'old/22', outcome: 'skipped', reason: OVER });
  expect(snapshot(at.root)).toEqual({ ...before, 'old/22': left });
  expect(await verifyStore(at)).toMatchObject({ whole: true, findings: [] });
});

test('what was over the budget and untouched is no part of the turn, and a close does not read it', async () => {
  const at = workspace({ a: 'a' }, { b: 'b', c: 'c' });
  const { changes } = await turn(at, 't', 1, () => {
    fs.writeFileSync(join(at.root, 'a'), 'new');
  });
  expect(changes.map(({ path }) => path)).toEqual(['a']);
  expect(await workspaceStatus(at)).toMatchObject({
    baseline: { files: 1 },
    overBudget: { files: 2, bytes: 2 },
    leftOut: [
      { path: 'b', reason: OVER },
      { path: 'c', reason: OVER },
    ],
  });
  expect(await rewound(at, 't')).toMatchObject({ complete: true });
});

test('openings one after another come to an end, and then everything can be undone', async () => {
  const names = Array.from({ length: 7 }, (_, i) => `f${i}`);
  const at = workspace({}, Object.fromEntries(names.map((name) => [name, `old ${name}`])));
  const before = snapshot(at.root);
  const left: number[] = [];
  for (let i = 0; i < 4; i++) {
    await turn(at, `t${i}`, 2);
    left.push((await workspaceStatus(at)).overBudget.files);
  }
  expect(left).toEqual([5, 3, 1, 0]);
  const { warnings } = await turn(at, 'last', 2, () => {
    for (const name of names) fs.rmSync(join(at.root, name));
  });
  expect(warnings).toEqual([]);
  expect(await rewound(at, 'last')).toMatchObject({ complete: true });
  expect(snapshot(at.root)).toEqual(before);
});

test('a file over the budget that the turn deleted is skipped, and the directory around it comes back', async () => {
  const at = workspace({ a: 'a' }, { 'dir/b': 'b', c: 'c' });
  const before = snapshot(at.root);
  await turn(at, 't', 1, () => {
    fs.rmSync(join(at.root, 'dir'), { recursive: true });
    fs.rmSync(join(at.root, 'c'));
    // Somebody makes another in its place.
    fs.mkdirSync(join(at.root, 'c'));
  });
  const result = await rewound(at, 't');
  expect(outcomesOf(result)).toEqual({ dir: 'restored', 'dir/b': 'skipped', c: 'skipped' });
  expect(result.complete).toBe(false);
  const { 'dir/b': lost, ...rest } = before;
  expect(lost).toBeDefined();
  expect(snapshot(at.root)).toEqual({ ...rest, c: expect.stringMatching(/^directory/) });
});

test.each([
  ['renamed', 'b', 'elsewhere/b'],
  ['renamed over another', 'b', 'a'],
  ['renamed with its directory', 'dir', 'elsewhere/dir'],
])('a file over the budget that was %s comes back: its bytes were there', async (_, from, to) => {
  const at = workspace({ a: 'a', elsewhere: {} }, { b: 'b', 'dir/c': 'c', 'dir/d': 'd' });
  fs.chmodSync(join(at.root, 'b'), 0o640);
  settle(temporary());
  const before = snapshot(at.root);
  await turn(at, 't', 1, () => {
    fs.renameSync(join(at.root, from), join(at.root, to));
  });
  const after = snapshot(at.root);
  expect(await rewound(at, 't')).toMatchObject({ complete: true });
  expect(snapshot(at.root)).toEqual(before);
  const store = openStore(at);
  await store.redo();
  store.close();
  expect(snapshot(at.root)).toEqual(after);
});

test('a file over the budget that was renamed and written is skipped under its old name', async () => {
  const at = workspace({ a: 'a' }, { b: 'b' });
  await turn(at, 't', 1, () => {
    fs.renameSync(join(at.root, 'b'), join(at.root, 'c'));
    fs.appendFileSync(join(at.root, 'c'), 'more');
  });
  expect(outcomesOf(await rewound(at, 't'))).toEqual({ b: 'skipped', c: 'deleted' });
});

test('a file over the budget whose mode was changed is skipped, for its bytes may not be the old ones', async () => {
  const at = workspace({ a: 'a' }, { b: 'b' });
  await turn(at, 't', 1, () => {
    fs.chmodSync(join(at.root, 'b'), 0o600);
  });
  expect(outcomesOf(await rewound(at, 't'))).toEqual({ b: 'skipped' });
});

test('a later step of the turn that had time for a file brings it back', async () => {
  const at = workspace({ a: 'a' }, { b: 'b' });
  const before = snapshot(at.root);
  await turn(at, 't', 1, () => {
    fs.writeFileSync(join(at.root, 'a'), 'new');
  });
  await turn(at, 't', 1, () => {
    fs.rmSync(join(at.root, 'b'));
  });
  expect(await rewound(at, 't')).toMatchObject({ complete: true });
  expect(snapshot(at.root)).toEqual(before);
});

test('steps that overlap each know of a file what their own opening had time for', async () => {
  const at = workspace({ a: 'a' }, { b: 'b' });
  const before = snapshot(at.root);
  const first = await openTurn({ ...at, turn: 'first', budget: timeFor(1) });
  const second = await openTurn({ ...at, turn: 'second', budget: timeFor(1) });
  expect([first.warnings.length, second.warnings.length]).toEqual([1, 0]);
  fs.writeFileSync(join(at.root, 'b'), 'new');
  expect(await second.close()).toMatchObject({
    changes: [{ path: 'b', before: { kind: 'content' } }],
  });
  expect(await first.close()).toMatchObject({
    changes: [{ path: 'b', before: { kind: 'skipped', reason: OVER } }],
  });
  expect(outcomesOf(await rewound(at, 'first'))).toEqual({ b: 'skipped' });
  expect(outcomesOf(await rewound(at, 'second'))).toEqual({ b: 'restored' });
  expect(snapshot(at.root)).toEqual(before);
});

test('the library captures by name what its opening had no time for', async () => {
  const at = workspace({ a: 'a' }, { b: 'b', c: 'c' });
  const before = snapshot(at.root);
  const opened = await openTurn({ ...at, turn: 't', budget: timeFor(1) });
  opened.write('b', 'new');
  opened.capture('c');
  fs.rmSync(join(at.root, 'c'));
  await opened.close();
  expect(await rewound(at, 't')).toMatchObject({ complete: true });
  expect(snapshot(at.root)).toEqual(before);
});

test('a file over the budget that stands as it was after all is unchanged', async () => {
  const at = workspace({ a: 'a' }, { b: 'b' });
  await turn(at, 't1', 1, () => {
    fs.writeFileSync(join(at.root, 'a'), 'new');
  });
  const before = snapshot(at.root);
  await turn(at, 't2', 1);
  expect(await rewound(at, 't1')).toMatchObject({ complete: true });
  expect(snapshot(at.root)).toMatchObject({ b: before.b });
});

test.each([-1, Number.NaN, Number.POSITIVE_INFINITY])('%s is no time budget', async (budget) => {
  const at: OpenTurnOptions = { ...workspace({ a: 'a' }, {}), budget };
  await expect(openTurn(at)).rejects.toMatchObject({ code: 'usage' });
});
