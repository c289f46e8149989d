import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { type Lab, lab } from '../support/cli.js';
import { type Snapshot, snapshot, tree } from '../support/tree.js';

type Pruned = { turns: string[]; kept: number; freed: number; waiting: number; notes: string[] };
type Rewound = { complete: boolean; turns: string[] };

test('prune keeps the newest turns, which rewind exactly, and the disk really gets smaller', async () => {
  const it = lab();
  const states = await turns(it, 6);
  const before = diskUse(it.home);
  const planned = await it.json<Pruned>(['prune', '--keep', '2', '--dry-run']);
  expect(planned).toMatchObject({ dryRun: true, turns: ['t1', 't2', 't3', 't4'], kept: 2 });
  expect(diskUse(it.home)).toBe(before);
  const pruned = await it.json<Pruned>(['prune', '--keep', '2']);
  expect(pruned).toMatchObject({ turns: planned.turns, waiting: 0, notes: [] });
  expect(before - diskUse(it.home)).toBeGreaterThan(4 * PAYLOAD);
  expect(Math.abs(planned.freed - pruned.freed)).toBeLessThan(PAYLOAD);
  expect(await ids(it)).toEqual(['t6', 't5']);
  await rewindsTo(it, 't6', states[5]);
  await rewindsTo(it, 't5', states[4]);
  expect((await it.run(['redo'])).code).toBe(0);
  expect((await it.run(['redo'])).code).toBe(0);
  expect(snapshot(it.root)).toEqual(states[6]);
});

test('ids of turns and steps are never used again', async () => {
  const it = lab();
  await turns(it, 3);
  await it.run(['prune', '--keep', '1']);
  await it.run(['prune', '--keep', '1']);
  await it.turn('echo next > a.txt');
  expect(await ids(it)).toEqual(['t4', 't3']);
  expect(await it.json(['show', 't4'])).toMatchObject({ steps: [{ id: 4 }] });
});

test('a turn that has a step behind the cut is kept whole, and so is all that it overlaps', async () => {
  const it = lab();
  tree(it.root, { 'a.txt': '0' });
  const states = [snapshot(it.root)];
  const step = async (turn: string): Promise<void> => {
    await it.turn(`echo ${states.length} > a.txt`, '--turn', turn, '--no-watch');
    states.push(snapshot(it.root));
  };
  for (const turn of ['old', 'again', 'mid', 'again', 'new']) await step(turn);
  // The newest turn is `new`; `again` began before `mid` and goes on after it.
  expect(await it.json(['prune', '--keep', '2'])).toMatchObject({ turns: ['old'], kept: 3 });
  expect(await it.json(['prune', '--keep', '1'])).toMatchObject({ turns: ['again', 'mid'] });
  await it.run(['open', '--turn', 'long', '--no-watch']);
  await step('within');
  await it.run(['close', '--turn', 'long']);
  await step('last');
  expect(await it.json(['prune', '--keep', '2'])).toMatchObject({ turns: ['new'] });
  expect(await ids(it)).toEqual(['last', 'within', 'long']);
});

test('rewinds before the cut go, and what they had undone stays undone', async () => {
  const it = lab();
  const states = await turns(it, 3);
  await it.run(['rewind', 't2']);
  await it.turn('echo later > later.txt', '--turn', 'later');
  const after = snapshot(it.root);
  // t2 and t3 are undone by a rewind that opened before `later`.
  expect(await it.json(['prune', '--keep', '1'])).toMatchObject({ turns: ['t1', 't2', 't3'] });
  expect(await it.json(['list'])).toMatchObject({ turns: [{ turn: 'later', status: 'closed' }] });
  await rewindsTo(it, 'later', states[1]);
  await it.run(['redo']);
  expect(snapshot(it.root)).toEqual(after);
  expect(await it.run(['redo'])).toMatchObject({ code: 3 });
});

test('turns that were rewound stay so where their rewind stays, and redo works', async () => {
  const it = lab();
  const states = await turns(it, 4);
  await it.run(['rewind', 't3']);
  await it.run(['prune', '--keep', '2']);
  expect(await it.json(['list'])).toMatchObject({
    turns: [
      { turn: 't4', status: 'rewound' },
      { turn: 't3', status: 'rewound' },
    ],
  });
  expect((await it.run(['redo'])).code).toBe(0);
  expect(snapshot(it.root)).toEqual(states[4]);
  await rewindsTo(it, 't3', states[2]);
});

test('limits by age and by size; without a limit those of the settings, 0 is none', async () => {
  const it = lab();
  await turns(it, 4);
  expect(await it.json(['prune'])).toMatchObject({ turns: [], freed: 0 });
  const nothing = await it.run(['prune']);
  expect(nothing).toMatchObject({ code: 0, stdout: expect.stringContaining('no turn to drop') });
  expect(await it.json(['prune', '--older-than', '1h'])).toMatchObject({ turns: [] });
  expect(await it.json(['prune', '--keep', '0'])).toMatchObject({ turns: [] });
  const bySize = await it.json(['prune', '--max-size', String(PAYLOAD * 2.5), '--dry-run']);
  expect(bySize).toMatchObject({ turns: ['t1', 't2'] });
  // Everything is older than nothing; the newest turn stays all the same.
  expect(await it.json(['prune', '--older-than', '0.001s', '--dry-run'])).toMatchObject({
    turns: ['t1', 't2', 't3'],
  });
  tree(it.root, { '.preimage.json': '{ "keep": 3 }' });
  expect(await it.json(['prune', '--dry-run'])).toMatchObject({ turns: ['t1'] });
  for (const wrong of [
    ['--keep', '-1'],
    ['--older-than', '30'],
    ['--max-size', 'much'],
  ]) {
    expect(await it.run(['prune', ...wrong])).toMatchObject({ code: 2, stdout: '' });
  }
});

test('nothing recorded: prune says so and ends with 3, as every command does', async () => {
  expect(await lab().run(['prune'])).toMatchObject({ code: 3, stdout: '' });
});

test('a close prunes by itself once a limit is passed by a tenth, and status tells the limits', async () => {
  const it = lab();
  tree(it.root, {
    '.preimage.json': '{ "keep": 10, "olderThan": "2w", "maxSize": "1GB" }',
    'a.txt': '0',
  });
  for (let i = 1; i <= 11; i++) await it.turn(`echo ${i} > a.txt`, '--no-watch');
  expect(await ids(it)).toHaveLength(11);
  await it.turn('echo 12 > a.txt', '--no-watch');
  expect(await ids(it)).toEqual(['t12', 't11', 't10', 't9', 't8', 't7', 't6', 't5', 't4', 't3']);
  expect(await it.json(['status'])).toMatchObject({
    retention: { keep: 10, olderThan: '14d', maxSize: 1024 ** 3 },
  });
  expect((await it.run(['status'])).stdout).toMatch(/keeps +10 turns, 14d, 1 GB of history/);
  expect(await lab().json(['status'])).toMatchObject({
    retention: { keep: 200, olderThan: '30d', maxSize: 5 * 1024 ** 3 },
  });
});

test('a prune that cannot be done never fails the close: it is a warning', async () => {
  const it = lab();
  const states = await turns(it, 3);
  const packs = path.join(await storeOf(it), 'packs');
  fs.writeFileSync(path.join(packs, 'trash'), 'in the way');
  tree(it.root, { '.preimage.json': '{ "keep": 1 }' });
  const run = await it.run(['watch', '--', 'sh', '-c', 'echo 9 > a.txt']);
  expect(run).toMatchObject({ code: 0 });
  expect(run.stderr).toMatch(/warning: prune: /);
  expect(run.stderr).toMatch(/turn t4: /);
  fs.rmSync(path.join(packs, 'trash'));
  fs.rmSync(path.join(it.root, '.preimage.json'));
  expect((await it.run(['rewind', 't4'])).code).toBe(0);
  expect(snapshot(it.root)['a.txt']).toBe(states[3]?.['a.txt']);
});

/** Bytes that each turn of {@link turns} writes anew. */
const PAYLOAD = 100_000;

/** Makes turns t1, t2, …, each replacing big.bin by other bytes; gives what stood before and after each. */
async function turns(it: Lab, count: number): Promise<Snapshot[]> {
  tree(it.root, { 'a.txt': '0', 'same.txt': 'same', 'big.bin': crypto.randomBytes(PAYLOAD) });
  const states = [snapshot(it.root)];
  for (let i = 1; i <= count; i++) {
    const script = `echo ${i} > a.txt; head -c ${PAYLOAD} /dev/urandom > big.bin; echo > made${i}`;
    await it.turn(script, '--no-watch');
    states.push(snapshot(it.root));
  }
  return states;
}

async function rewindsTo(it: Lab, turn: string, state: Snapshot | undefined): Promise<void> {
  expect(await it.json<Rewound>(['rewind', turn])).toMatchObject({ complete: true });
  expect(snapshot(it.root)).toEqual(state);
}

async function ids(it: Lab): Promise<string[]> {
  const { turns: list } = await it.json<{ turns: { turn: string }[] }>(['list']);
  return list.map(({ turn }) => turn);
}

async function storeOf(it: Lab): Promise<string> {
  return (await it.json<{ store: string }>(['status'])).store;
}

/** Sums the sizes of all files below a directory. */
function diskUse(at: string): number {
  return fs
    .readdirSync(at, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + fs.statSync(path.join(entry.parentPath, entry.name)).size, 0);
}
