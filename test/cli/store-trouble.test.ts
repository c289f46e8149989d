import { spawnSync } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { type Lab, lab } from '../support/cli.js';
import { SMALL_DISKS, testWith } from '../support/machine.js';
import { smallDisk } from '../support/small-disk.js';
import { snapshot, temporary, tree } from '../support/tree.js';
import { expectProblem } from './problems.js';

test('the command is not run where the store cannot be made', async () => {
  const it = lab();
  const elsewhere = temporary();
  tree(elsewhere, { file: 'no directory' });
  const store = path.join(elsewhere, 'file', 'store');
  const says = [/store/, /not a directory/i, /--store/];
  await expectProblem(it, ['watch', '--store', store, '--', 'touch', 'ran'], { code: 125, says });
  await expectProblem(it, ['watch', '--', 'touch', 'ran'], {
    code: 125,
    says,
    env: { PREIMAGE_STORE: store },
  });
  expect(fs.readdirSync(it.root)).toEqual([]);
});

test('with --best-effort the command runs all the same, and that is said', async () => {
  const it = lab();
  const elsewhere = temporary();
  tree(elsewhere, { file: 'no directory' });
  const store = path.join(elsewhere, 'file', 'store');
  const command = ['--', 'sh', '-c', 'echo out; touch ran; exit 7'];
  const run = await it.run(['watch', '--store', store, '--best-effort', ...command]);
  expect(run).toMatchObject({ code: 7, stdout: 'out\n' });
  expect(run.stderr).toMatch(/nothing is recorded/i);
  expect(fs.readdirSync(it.root)).toEqual(['ran']);
});

testWith(
  [SMALL_DISKS],
  'the command is not run where the old bytes do not fit into the store',
  async () => {
    const it = lab();
    const small = smallDisk('64k');
    tree(it.root, { 'large.bin': crypto.randomBytes(200_000) });
    const before = snapshot(it.root);
    const store = ['--store', path.join(small, 'store')];
    await expectProblem(it, ['watch', ...store, '--', 'touch', 'ran'], {
      code: 125,
      says: [/no space/i],
    });
    expect(snapshot(it.root)).toEqual(before);
    const run = await it.run(['watch', '--best-effort', ...store, '--', 'touch', 'ran']);
    expect(run.code).toBe(0);
    expect(fs.existsSync(path.join(it.root, 'ran'))).toBe(true);
  },
);

testWith(
  [SMALL_DISKS],
  'a step that cannot be closed for want of space keeps the code and is recovered later',
  async () => {
    const it = lab();
    const small = smallDisk('256k');
    tree(it.root, { 'a.txt': 'old\n' });
    const before = snapshot(it.root);
    const store = ['--store', path.join(small, 'store')];
    const script = 'echo new > a.txt; head -c 600000 /dev/urandom > made.bin; exit 9';
    const run = await it.run(['watch', ...store, '--', 'sh', '-c', script]);
    expect(run).toMatchObject({ code: 9, stdout: '' });
    expect(run.stderr).toMatch(/could not be closed/);
    expect(run.stderr).toMatch(/no space/i);
    expect(spawnSync('mount', ['-o', 'remount,size=16m', small]).status).toBe(0);
    expect((await it.run(['status', ...store])).code).toBe(0);
    expect(await it.json(['list', ...store])).toMatchObject({
      turns: [{ turn: 't1', status: 'recovered', counts: { created: 1, modified: 1 } }],
    });
    expect((await it.run(['rewind', ...store])).code).toBe(0);
    expect(snapshot(it.root)).toEqual(before);
  },
);

testWith(
  [SMALL_DISKS],
  'a rewind that finds no space for what it would overwrite changes nothing',
  async () => {
    const it = lab();
    const small = smallDisk('512k');
    tree(it.root, { 'a.txt': 'old\n', 'b.txt': 'old\n' });
    const store = ['--store', path.join(small, 'store')];
    await it.turn('echo new > a.txt; echo new > b.txt', ...store);
    fs.writeFileSync(path.join(it.root, 'b.txt'), crypto.randomBytes(600_000));
    const before = snapshot(it.root);
    const run = await it.run(['rewind', '--force', ...store]);
    expect(run.code).not.toBe(0);
    expect(`${run.stdout}${run.stderr}`).toMatch(/no space/i);
    expect(snapshot(it.root)).toEqual(before);
  },
);

test('a log that somebody edited is damage: the line is named and nothing is touched', async () => {
  const it = await withTwoTurns();
  const log = path.join(await storeOf(it), 'log');
  const lines = fs.readFileSync(log, 'utf8').split('\n');
  const before = snapshot(it.root);
  const edits: [number, string[]][] = [
    [3, lines.map((line, i) => (i === 2 ? line.replace('"two"', '"2"') : line))],
    [2, lines.filter((_, i) => i !== 1)],
    [4, lines.map((line, i) => (i === 3 ? `${line} ` : line))],
    [1, ['', ...lines]],
  ];
  for (const [line, edited] of edits) {
    fs.writeFileSync(log, edited.join('\n'));
    const says = [new RegExp(`line ${line}\\b`, 'i')];
    await expectProblem(it, ['rewind', 'one'], { code: 4, says });
    expect(fs.readFileSync(log, 'utf8')).toBe(edited.join('\n'));
  }
  for (const args of [['list'], ['status'], ['open', '--turn', 'three']]) {
    expect(await it.run(args)).toMatchObject({ code: 4, stdout: '' });
  }
  expect(await it.run(['watch', '--', 'touch', 'ran'])).toMatchObject({ code: 125, stdout: '' });
  expect(snapshot(it.root)).toEqual(before);
  fs.writeFileSync(log, lines.join('\n'));
  expect((await it.run(['rewind', 'one'])).code).toBe(0);
  expect(fs.readFileSync(path.join(it.root, 'a.txt'), 'utf8')).toBe('0\n');
});

test('a last line that was torn off is dropped, and what it would have closed is recovered', async () => {
  const it = await withTwoTurns();
  const log = path.join(await storeOf(it), 'log');
  const whole = fs.readFileSync(log);
  fs.writeFileSync(log, whole.subarray(0, whole.length - 20));
  expect((await it.run(['status'])).code).toBe(0);
  expect(await it.json(['list'])).toMatchObject({
    turns: [
      { turn: 'two', status: 'recovered', counts: { modified: 1, created: 0 } },
      { turn: 'one', status: 'closed' },
    ],
  });
  fs.appendFileSync(log, 'half a li');
  expect((await it.run(['rewind', 'one'])).code).toBe(0);
  expect(fs.readFileSync(path.join(it.root, 'a.txt'), 'utf8')).toBe('0\n');
});

test('a store of a newer version is not touched', async () => {
  const it = await withTwoTurns();
  const store = await storeOf(it);
  const identity = path.join(store, 'store.json');
  // A newer version writes its own checksum.
  const { version, check: _, ...rest } = JSON.parse(fs.readFileSync(identity, 'utf8'));
  fs.writeFileSync(identity, JSON.stringify({ version: version + 1, ...rest, more: true }));
  const [workspace, kept] = [snapshot(it.root), snapshot(store)];
  for (const args of [['list'], ['rewind'], ['open', '--turn', 'x'], ['close', '--turn', 'x']]) {
    await expectProblem(it, args, { code: 4, says: [/newer/] });
  }
  await expectProblem(it, ['watch', '--', 'touch', 'ran'], { code: 125, says: [/newer/] });
  expect(snapshot(it.root)).toEqual(workspace);
  expect(snapshot(store)).toEqual(kept);
});

test('a store whose description cannot be read is damaged', async () => {
  const it = await withTwoTurns();
  fs.writeFileSync(path.join(await storeOf(it), 'store.json'), '{ "version": ');
  await expectProblem(it, ['list'], { code: 4, says: [/store\.json/] });
  await expectProblem(it, ['watch', '--', 'touch', 'ran'], { code: 125, says: [/store\.json/] });
  expect(fs.readdirSync(it.root)).toEqual(['a.txt']);
});

test('a store serves its own root, from anywhere below, and nothing else', async () => {
  const [it, other] = [lab(), lab()];
  tree(it.root, { 'a.txt': 'old', deep: { er: {} } });
  const store = path.join(temporary(), 'store');
  await it.turn('echo new > a.txt', '--store', store);
  const below = { cwd: path.join(it.root, 'deep', 'er') };
  expect(await it.json(['list', '--store', store], below)).toMatchObject({ turns: [{}] });
  const says = [new RegExp(it.root), /belongs/];
  const cwd = other.root;
  await expectProblem(it, ['list', '--store', store], { code: 2, says, cwd });
  await expectProblem(it, ['list'], { code: 2, says, cwd, env: { PREIMAGE_STORE: store } });
  await expectProblem(it, ['rewind', '--root', cwd, '--store', store], { code: 2, says });
  const watch = ['watch', '--store', store, '--', 'touch', 'ran'];
  await expectProblem(it, watch, { code: 2, says, cwd });
  expect(fs.readdirSync(other.root)).toEqual([]);
});

/** Turns `one` and `two`, each a change of a.txt from 0 over 1 to 2. */
async function withTwoTurns(): Promise<Lab> {
  const it = lab();
  tree(it.root, { 'a.txt': '0\n' });
  await it.turn('echo 1 > a.txt', '--turn', 'one', '--no-watch');
  await it.turn('echo 2 > a.txt', '--turn', 'two', '--no-watch');
  return it;
}

async function storeOf(it: Lab): Promise<string> {
  return (await it.json<{ store: string }>(['status'])).store;
}
