import { spawnSync } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import {
  type FileImage,
  type Image,
  openTurn,
  PreimageError,
  verifyStore,
} from '../../src/index.js';
import { CLI, runProcess } from '../support/cli.js';
import { SMALL_DISKS, testWith } from '../support/machine.js';
import { exec, type Snapshot, temporary } from '../support/tree.js';
import { type Bench, bench, diskUse } from '../support/turns.js';

test('the newest turns stay and rewind exactly, and the disk really gets smaller', async () => {
  const { at, states } = await turns(6);
  const before = diskUse(at.store);
  const planned = at.with((store) => store.planPrune({ keep: 2 }));
  expect(planned).toMatchObject({ turns: ['t1', 't2', 't3', 't4'], kept: 2, notes: [] });
  expect(diskUse(at.store)).toBe(before);
  const pruned = at.with((store) => store.prune({ keep: 2 }));
  expect(pruned).toMatchObject({ turns: planned.turns, kept: 2, waiting: 0, notes: [] });
  expect(before - diskUse(at.store)).toBeGreaterThan(4 * PAYLOAD);
  expect(Math.abs(planned.freed - pruned.freed)).toBeLessThan(PAYLOAD);
  expect(at.ids()).toEqual(['t6', 't5']);
  await rewindsTo(at, 't6', states[5]);
  await rewindsTo(at, 't5', states[4]);
  await at.redo();
  await at.redo();
  expect(at.snapshot()).toEqual(states[6]);
});

test('many small turns do not leave many files behind, and each of them still rewinds exactly', async () => {
  const at = bench({ 'a.txt': '0' });
  const states: Snapshot[] = [];
  for (let turn = 0; turn < 40; turn++) {
    states.push(at.snapshot());
    await at.turn('next', () => at.write({ 'a.txt': `turn ${turn}` }));
  }
  const packs = fs.readdirSync(path.join(at.store, 'packs')).filter((name) => /pack$/.test(name));
  expect(packs.length).toBeGreaterThan(0);
  expect(packs.length).toBeLessThan(34);
  for (const turn of [40, 33, 8, 1]) await rewindsTo(at, `t${turn}`, states[turn - 1]);
});

test('ids of turns and steps are never used again', async () => {
  const { at } = await turns(3);
  for (let i = 0; i < 2; i++) at.with((store) => store.prune({ keep: 1 }));
  const turn = await openTurn({ root: at.root, store: at.store });
  await turn.close();
  expect(at.ids()).toEqual(['t4', 't3']);
  expect(at.with((store) => store.show('t4').steps.map(({ id }) => id))).toEqual([4]);
});

test('a turn that has a step behind the cut stays whole, and so does all that overlaps', async () => {
  const at = bench({ 'a.txt': '0' });
  let count = 0;
  const step = (turn: string) => at.turn(turn, () => at.write({ 'a.txt': String(++count) }));
  for (const turn of ['old', 'again', 'mid', 'again', 'new']) await step(turn);
  const prune = (keep: number) => at.with((store) => store.prune({ keep }).turns);
  // The newest turns are `new` and `mid`; `again` began before `mid` and goes on after it.
  expect(prune(2)).toEqual(['old']);
  expect(prune(1)).toEqual(['again', 'mid']);
  const long = await openTurn({ root: at.root, store: at.store, turn: 'long' });
  await step('within');
  await long.close();
  await step('last');
  expect(prune(2)).toEqual(['new']);
  expect(at.ids()).toEqual(['last', 'within', 'long']);
});

test('rewinds before the cut go with what they undid', async () => {
  const { at, states } = await turns(3);
  await at.rewind('t2');
  await at.turn('later', () => at.write({ 'later.txt': 'x' }));
  const after = at.snapshot();
  expect(at.with((store) => store.prune({ keep: 1 }).turns)).toEqual(['t1', 't2', 't3']);
  expect(at.with((store) => store.list())).toMatchObject([{ turn: 'later', status: 'closed' }]);
  await rewindsTo(at, 'later', states[1]);
  await at.redo();
  expect(at.snapshot()).toEqual(after);
  await expect(at.redo()).rejects.toThrow(/no rewind/);
});

test('what a rewind behind the cut has undone stays undone, and its redo works', async () => {
  const { at, states } = await turns(4);
  await at.rewind('t3');
  at.with((store) => store.prune({ keep: 2 }));
  expect(at.with((store) => store.list())).toMatchObject([
    { turn: 't4', status: 'rewound' },
    { turn: 't3', status: 'rewound' },
  ]);
  await at.redo();
  expect(at.snapshot()).toEqual(states[4]);
  await rewindsTo(at, 't3', states[2]);
});

test('limits by age and by size; the newest turn passes every one', async () => {
  const { at } = await turns(4);
  const plan = (limits: Parameters<ReturnType<typeof storeOf>['planPrune']>[0]) =>
    at.with((store) => store.planPrune(limits).turns);
  expect(plan({})).toEqual([]);
  expect(plan({ olderThan: 3_600_000 })).toEqual([]);
  expect(plan({ keep: 0, maxSize: 0, olderThan: 0 })).toEqual([]);
  expect(plan({ maxSize: PAYLOAD * 2.5 })).toEqual(['t1', 't2']);
  expect(plan({ maxSize: 1 })).toEqual(['t1', 't2', 't3']);
  expect(plan({ olderThan: 1e-9 })).toEqual(['t1', 't2', 't3']);
  at.write({ '.preimage.json': '{ "keep": 3 }' });
  expect(plan({})).toEqual(['t1']);
});

test('a pack that is mostly unused gives up its space, and what is used in it stays', async () => {
  const churn = crypto.randomBytes(PAYLOAD * 5);
  const at = bench({ 'churn.bin': churn, 'kept.bin': crypto.randomBytes(PAYLOAD) });
  const start = at.snapshot();
  // One pack holds both; the first is soon needed by nobody.
  await at.turn('t1', () => at.write({ 'churn.bin': 'small now' }));
  await at.turn('t2', () => at.write({ 'a.txt': '2' }));
  const before = diskUse(at.store);
  expect(at.with((store) => store.prune({ keep: 1 }))).toMatchObject({ turns: ['t1'] });
  expect(before - diskUse(at.store)).toBeGreaterThan(PAYLOAD * 4.9);
  await at.turn('t3', () => fs.rmSync(path.join(at.root, 'kept.bin')));
  const { complete } = await at.rewind('t3');
  expect(complete).toBe(true);
  expect(at.snapshot()['kept.bin']).toBe(start['kept.bin']);
  // The scan trusts what the old packs held: nothing is read and stored anew.
  const turn = await openTurn({ root: at.root, store: at.store });
  const { record } = await turn.close();
  expect(record.warnings).toEqual([]);
});

test('what an open step needs stays: its pre-images, its captures by name, its turn', async () => {
  const { at } = await turns(3);
  at.write({ node_modules: { 'x.js': 'module' }, run: exec('#!/bin/sh') });
  const before = at.snapshot();
  const open = await openTurn({ root: at.root, store: at.store, turn: 'open' });
  open.capture('node_modules/x.js');
  at.write({ 'a.txt': 'changed', node_modules: { 'x.js': 'patched' } });
  fs.rmSync(path.join(at.root, 'run'));
  expect(at.with((store) => store.prune({ keep: 1 }))).toMatchObject({ turns: ['t1', 't2', 't3'] });
  expect(at.ids()).toEqual(['open']);
  await open.close();
  const { outcomes } = await at.rewind('open');
  expect(outcomes.filter(({ outcome }) => outcome === 'failed')).toEqual([]);
  expect(at.snapshot()).toEqual(before);
});

test('what an opening step has just relied on comes back from the trash when it is named', async () => {
  const at = bench({ 'a.txt': 'first' });
  await at.turn('t1', () => at.write({ 'a.txt': 'second' }));
  await at.turn('t2', () => at.write({ 'a.txt': 'third' }));
  await at.turn('t3', () => at.write({ 'a.txt': 'fourth' }));
  // What stood first is needed by t1 alone. Now it stands there again, and is found in the store.
  at.write({ 'a.txt': 'first' });
  const before = at.snapshot();
  const trash = path.join(at.store, 'packs', 'trash');
  let seen: string[] = [];
  const open = await atLogLock(
    () => {
      const { status } = spawnSync(process.execPath, [
        CLI,
        'prune',
        '--keep=1',
        `--root=${at.root}`,
        `--store=${at.store}`,
      ]);
      expect(status).toBe(0);
      seen = fs.readdirSync(trash).filter(isPack);
    },
    () => openTurn({ root: at.root, store: at.store, turn: 'late' }),
  );
  expect(seen.length).toBeGreaterThan(0);
  expect(fs.readdirSync(trash).filter(isPack).length).toBeLessThan(seen.length);
  at.write({ 'a.txt': 'changed' });
  await open.close();
  expect(verifyStore(at)).toMatchObject({ whole: true });
  await rewindsTo(at, 'late', before);
});

test('what waits in the trash is deleted after an hour even while a step is open', async () => {
  const { at } = await turns(3);
  const open = await openTurn({ root: at.root, store: at.store, turn: 'open' });
  const pruned = at.with((store) => store.prune({ keep: 1 }));
  expect(pruned.waiting).toBeGreaterThan(2 * PAYLOAD);
  const trash = path.join(at.store, 'packs', 'trash');
  const hourAgo = new Date(Date.now() - 3_700_000);
  for (const name of fs.readdirSync(trash)) fs.utimesSync(path.join(trash, name), hourAgo, hourAgo);
  expect(at.with((store) => store.prune({ keep: 1 })).waiting).toBe(0);
  await open.close();
  expect(verifyStore(at)).toMatchObject({ whole: true, findings: [] });
});

test('what has become needed in the trash is brought back before that is emptied', async () => {
  const { at, states } = await turns(2);
  const packs = path.join(at.store, 'packs');
  const trash = path.join(packs, 'trash');
  fs.mkdirSync(trash, { mode: 0o700 });
  const dayAgo = new Date(Date.now() - 86_400_000);
  for (const name of fs.readdirSync(packs).filter((each) => /^0+[1-9]\d*\./.test(each))) {
    fs.renameSync(path.join(packs, name), path.join(trash, name));
    fs.utimesSync(path.join(trash, name), dayAgo, dayAgo);
  }
  // Also from the trash everything can be read.
  expect(
    at.with(
      (store) =>
        store.read(imageOf(store.image('t1', path.join(at.root, 'big.bin'), 'pre'))).length,
    ),
  ).toBe(PAYLOAD);
  const { waiting } = at.with((store) => store.prune({ keep: 2 }));
  expect(waiting).toBe(0);
  expect(verifyStore(at)).toMatchObject({ whole: true, findings: [] });
  await rewindsTo(at, 't1', states[0]);
});

testWith([SMALL_DISKS], 'a prune on a disk that is nearly full loses nothing', async () => {
  const base = temporary();
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', base]);
  expect(mounted.status).toBe(0);
  onTestFinished(() => {
    spawnSync('umount', ['-l', base]);
  });
  // One pack holds both; when the first is dead the second must be copied, and that does not fit.
  const churn = crypto.randomBytes(PAYLOAD * 5);
  const at = bench({ 'churn.bin': churn, 'kept.bin': crypto.randomBytes(PAYLOAD * 3) }, base);
  await at.turn('t1', () => at.write({ 'churn.bin': 'small now' }));
  await at.turn('t2', () => at.write({ 'a.txt': '2' }));
  const before = at.snapshot();
  await at.turn('t3', () => fs.rmSync(path.join(at.root, 'kept.bin')));
  const free = (): number => {
    const { bavail, bsize } = fs.statfsSync(base);
    return bavail * bsize;
  };
  const filler = path.join(base, 'filler');
  fs.writeFileSync(filler, Buffer.alloc(free() - PAYLOAD));
  const pruned = at.with((store) => store.prune({ keep: 1 }));
  expect(pruned).toMatchObject({ turns: ['t1', 't2'], notes: [expect.stringMatching(/no space/)] });
  expect(verifyStore(at)).toMatchObject({ whole: true, findings: [] });
  fs.appendFileSync(filler, Buffer.alloc(free()));
  expect(() => at.with((store) => store.prune({ keep: 1 }))).toThrow(PreimageError);
  fs.rmSync(filler);
  const room = free();
  expect(at.with((store) => store.prune({ keep: 1 })).notes).toEqual([]);
  expect(free() - room).toBeGreaterThan(PAYLOAD * 4);
  await rewindsTo(at, 't3', before);
});

test('a close prunes by itself once a limit is passed by a tenth, down to the limit', async () => {
  const at = bench({ '.preimage.json': '{ "keep": 10 }', 'a.txt': '0' });
  for (let i = 1; i <= 11; i++) await at.turn(`t${i}`, () => at.write({ 'a.txt': `${i}` }));
  expect(at.ids()).toHaveLength(11);
  await at.turn('t12', () => at.write({ 'a.txt': '12' }));
  expect(at.ids()).toEqual(['t12', 't11', 't10', 't9', 't8', 't7', 't6', 't5', 't4', 't3']);
  at.write({ '.preimage.json': '{ "maxSize": "50KB" }', 'b.bin': crypto.randomBytes(PAYLOAD) });
  // The copy of the workspace as it stands does not count, for it cannot be dropped.
  await at.turn('t13', () => {});
  expect(at.ids()).toHaveLength(11);
  await at.turn('t14', () => at.write({ 'b.bin': 'small' }));
  expect(at.ids()).toEqual(['t14']);
});

test('what dead processes have left is gone after the next open', async () => {
  const { at } = await turns(1);
  // This process has ended.
  const { pid } = spawnSync('true');
  const left = [
    `packs/00000009.idx.${pid}-index.tmp`,
    `manifests/${'a'.repeat(64)}.${pid}-0a1b2c3d.tmp`,
    `details/${'a'.repeat(64)}.${pid}-0a1b2c3d.tmp`,
    `store.json.${pid}-0a1b2c3d.tmp`,
    `locks/log.${pid}`,
    `locks/log.${pid}.dead`,
    `control/${pid}-0a1b2c3d4e5f/early`,
  ].map((name) => path.join(at.store, name));
  const alive = path.join(at.store, `log.${process.pid}-0a1b2c3d.tmp`);
  for (const file of [...left, alive]) {
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, 'half');
  }
  await at.turn('t2', () => {});
  expect([...left, alive].filter((file) => fs.existsSync(file))).toEqual([alive]);
  expect(fs.readdirSync(path.join(at.store, 'control'))).toEqual([]);
});

test('prunes beside a process that opens and closes steps lose nothing', async () => {
  const at = bench({ 'a.txt': '0', 'b.txt': '0' });
  await at.turn('t0', () => at.write({ 'a.txt': '1' }));
  // Few contents in turn: what one prune finds dead the next step finds in the workspace again.
  const script = `
    import fs from 'node:fs';
    import { openTurn } from ${JSON.stringify(path.resolve(CLI, '../../index.js'))};
    const [root, store] = process.argv.slice(1);
    for (let i = 0; i < 25; i++) {
      fs.writeFileSync(root + '/a.txt', 'before ' + (i % 3));
      const turn = await openTurn({ root, store });
      fs.writeFileSync(root + '/b.txt', 'after ' + (i % 4));
      await turn.close();
    }`;
  const args = ['--input-type=module', '-e', script, at.root, at.store];
  let running = true;
  const child = runProcess(process.execPath, args, { cwd: at.root, env: process.env }).finally(
    () => {
      running = false;
    },
  );
  let prunes = 0;
  while (running) {
    try {
      at.with((store) => store.prune({ keep: 2 }));
      prunes += 1;
    } catch (error) {
      expect(error).toMatchObject({ code: 'busy' });
    }
    await new Promise(setImmediate);
  }
  expect(await child).toEqual({ code: 0, stdout: '', stderr: '' });
  expect(prunes).toBeGreaterThan(5);
  at.with((store) => store.prune({ keep: 2 }));
  expect(verifyStore(at)).toMatchObject({ whole: true, findings: [] });
  const [newest = '', other = ''] = at.ids();
  expect((await at.rewind(newest)).complete).toBe(true);
  expect((await at.rewind(other)).complete).toBe(true);
  expect(fs.readFileSync(path.join(at.root, 'b.txt'), 'utf8')).toBe('after 2');
});

test('killed anywhere in a prune: what stays rewinds exactly, and the next prune finishes', async () => {
  const { at, states } = await turns(4);
  const pristine = `${at.store}-pristine`;
  fs.cpSync(at.store, pristine, { recursive: true, preserveTimestamps: true });
  const hook = path.join(path.dirname(at.store), 'kill.mjs');
  fs.writeFileSync(hook, KILL_HOOK);
  const prune = (killAt: number) =>
    spawnSync(
      process.execPath,
      ['--import', hook, CLI, 'prune', '--keep=2', `--root=${at.root}`, `--store=${at.store}`],
      { env: { ...process.env, KILL_AT: String(killAt) }, encoding: 'utf8' },
    );
  const calls = Number(/calls=(\d+)/.exec(prune(0).stderr)?.[1]);
  expect(calls).toBeGreaterThan(20);
  for (let point = 0; point < 8; point++) {
    fs.rmSync(at.store, { recursive: true });
    fs.cpSync(pristine, at.store, { recursive: true, preserveTimestamps: true });
    const killAt = 1 + Math.floor((point * (calls - 1)) / 7);
    expect(prune(killAt)).toMatchObject({ signal: 'SIGKILL' });
    const damage = verifyStore(at).findings.filter(({ kind }) => kind === 'damage');
    expect({ killAt, damage }).toEqual({ killAt, damage: [] });
    expect(at.with((store) => store.prune({ keep: 2 })).kept).toBe(2);
    expect(verifyStore(at)).toMatchObject({ whole: true, findings: [] });
    await rewindsTo(at, 't3', states[2]);
    await at.redo();
    expect(at.snapshot()).toEqual(states[4]);
  }
}, 60_000);

/** Bytes that each turn of {@link turns} writes anew. */
const PAYLOAD = 100_000;

/** Makes turns t1, t2, …, each replacing big.bin by other bytes; gives what stood before and after each. */
async function turns(count: number): Promise<{ at: Bench; states: Snapshot[] }> {
  const at = bench({ 'a.txt': '0', 'same.txt': 'x', 'big.bin': crypto.randomBytes(PAYLOAD) });
  const states = [at.snapshot()];
  for (let i = 1; i <= count; i++) {
    await at.turn(`t${i}`, () => {
      at.write({ 'a.txt': String(i), 'big.bin': crypto.randomBytes(PAYLOAD), [`made${i}`]: '' });
    });
    states.push(at.snapshot());
  }
  return { at, states };
}

async function rewindsTo(at: Bench, turn: string, state: Snapshot | undefined): Promise<void> {
  expect(await at.rewind(turn)).toMatchObject({ complete: true });
  expect(at.snapshot()).toEqual(state);
}

/** Runs something right before the log's lock is taken the next time in what `run` does. */
async function atLogLock<T>(before: () => void, run: () => Promise<T>): Promise<T> {
  const { linkSync } = fs;
  fs.linkSync = (from, to) => {
    if (String(to).endsWith(`${path.sep}log`)) {
      fs.linkSync = linkSync;
      before();
    }
    linkSync(from, to);
  };
  try {
    return await run();
  } finally {
    fs.linkSync = linkSync;
  }
}

function imageOf(image: Image): FileImage {
  if (image.kind === 'content' && image.type === 'file') return image;
  throw new Error('no file');
}

function isPack(name: string): boolean {
  return name.endsWith('.pack');
}

function storeOf(at: Bench) {
  return at.with((store) => store);
}

/** Counts the calls that change something on the disk, and kills the process before the one asked for. */
const KILL_HOOK = `
  import fs from 'node:fs';
  const killAt = Number(process.env.KILL_AT);
  let calls = 0;
  const names = ['openSync', 'writeSync', 'fsyncSync', 'fdatasyncSync', 'renameSync', 'rmSync',
    'linkSync', 'mkdirSync', 'utimesSync', 'ftruncateSync', 'writeFileSync'];
  for (const name of names) {
    const real = fs[name];
    fs[name] = (...args) => {
      const reads = name === 'openSync' && (args[1] === 'r' || args[1] === undefined);
      if (!reads && ++calls === killAt) process.kill(process.pid, 'SIGKILL');
      return real(...args);
    };
  }
  process.on('exit', () => process.stderr.write('calls=' + calls));
`;
