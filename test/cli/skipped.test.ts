import fs from 'node:fs';
import path, { join } from 'node:path';
import { expect, test } from 'vitest';
import { lab } from '../support/cli.js';
import { SMALL_DISKS, testWith } from '../support/machine.js';
import { smallDisk } from '../support/small-disk.js';
import { snapshot, tree } from '../support/tree.js';

const LIMIT = ['--max-file', '1KB', '--no-watch'];
const OVER = /^.+ is over the limit of 1 KB$/;

test('a file over the limit is skipped with the reason, and never counted as absent', async () => {
  const it = lab();
  tree(it.root, { 'big.bin': 'x'.repeat(3000), 'a.txt': 'old' });
  await it.turn('echo changed >> big.bin; echo new > a.txt', ...LIMIT);
  const skipped = { kind: 'skipped', reason: expect.stringMatching(OVER) };
  expect(await it.json(['show', 't1'])).toMatchObject({
    partial: true,
    files: [
      { path: 'a.txt', change: 'modified' },
      { path: 'big.bin', change: 'unknown', pre: skipped, post: skipped },
    ],
  });
  expect(await it.json(['list'])).toMatchObject({
    turns: [{ partial: true, counts: { modified: 1, unknown: 1 } }],
  });
  expect((await it.run(['show', 't1'])).stdout).toMatch(/^\? big\.bin .*over the limit/m);
  expect((await it.run(['list'])).stdout).toMatch(/partial/);
  const left = snapshot(it.root)['big.bin'];
  const run = await it.run(['rewind', '--json']);
  expect(run.code).toBe(1);
  expect(JSON.parse(run.stdout)).toMatchObject({
    complete: false,
    outcomes: [
      { path: 'a.txt', outcome: 'restored' },
      { path: 'big.bin', outcome: 'skipped', reason: expect.stringMatching(OVER) },
    ],
  });
  expect(snapshot(it.root)['big.bin']).toBe(left);
});

test('a file over the limit at open is never deleted by a rewind, even if it shrank in the turn', async () => {
  const it = lab();
  tree(it.root, { 'big.bin': 'x'.repeat(3000) });
  await it.turn('echo small > big.bin', ...LIMIT);
  for (const way of ['--dry-run', '--force']) {
    expect((await it.run(['rewind', way])).code).toBe(1);
  }
  expect(fs.readFileSync(path.join(it.root, 'big.bin'), 'utf8')).toBe('small\n');
});

test('a file over the limit that the turn deleted comes back, for the store had a name of it', async () => {
  const it = lab();
  tree(it.root, { 'big.bin': 'x'.repeat(3000) });
  const before = snapshot(it.root);
  await it.turn('rm big.bin', ...LIMIT);
  expect((await it.run(['rewind'])).code).toBe(0);
  expect(snapshot(it.root)).toEqual(before);
});

const elsewhere =
  'where the store is on another device, such a file is reported, for nobody can bring it back';
testWith([SMALL_DISKS], elsewhere, async () => {
  const it = lab();
  tree(it.root, { 'big.bin': 'x'.repeat(3000) });
  const store = ['--store', join(smallDisk('4m'), 'store')];
  await it.turn('rm big.bin', ...LIMIT, ...store);
  expect(await it.json(['show', ...store, 't1'])).toMatchObject({
    partial: true,
    files: [{ path: 'big.bin', change: 'unknown', post: { kind: 'absent' } }],
  });
  const run = await it.run(['rewind', ...store, '--json']);
  expect(run.code).toBe(1);
  expect(JSON.parse(run.stdout)).toMatchObject({
    outcomes: [{ path: 'big.bin', outcome: 'skipped' }],
  });
});

test('a file that grew over the limit in the turn is put back, and redo brings the large one again', async () => {
  const it = lab();
  tree(it.root, { 'a.bin': 'small' });
  const before = snapshot(it.root);
  await it.turn('head -c 3000 /dev/zero > a.bin; head -c 4000 /dev/zero > new.bin', ...LIMIT);
  const after = snapshot(it.root);
  expect((await it.run(['rewind'])).code).toBe(0);
  expect(snapshot(it.root)).toEqual(before);
  expect((await it.run(['redo'])).code).toBe(0);
  expect(snapshot(it.root)).toEqual(after);
});

test('a file over the limit that nobody touched is no part of the turn', async () => {
  const it = lab();
  tree(it.root, { 'big.bin': 'x'.repeat(3000), 'a.txt': 'old' });
  await it.turn('echo new > a.txt', ...LIMIT);
  expect(await it.json(['show', 't1'])).toMatchObject({
    partial: false,
    files: [{ path: 'a.txt' }],
  });
  expect((await it.run(['rewind'])).code).toBe(0);
});

test('the limit is 8 MiB unless told otherwise, and 0 is no limit', async () => {
  const it = lab();
  const MIB = 1024 * 1024;
  tree(it.root, { at: Buffer.alloc(8 * MIB), over: Buffer.alloc(8 * MIB + 1) });
  const before = snapshot(it.root);
  await it.turn('echo > at; echo > over', '--no-watch');
  expect(await it.json(['show', 't1'])).toMatchObject({
    files: [
      { path: 'at', change: 'modified' },
      { path: 'over', change: 'unknown', pre: { kind: 'skipped' } },
    ],
  });
  expect((await it.run(['rewind'])).code).toBe(1);
  tree(it.root, { over: Buffer.alloc(8 * MIB + 1) });
  await it.turn('echo > at; echo > over', '--max-file', '0', '--no-watch');
  expect((await it.run(['rewind'])).code).toBe(0);
  expect(snapshot(it.root)).toEqual(before);
});

test('what is excluded is said to be left out and stays', async () => {
  const it = lab();
  tree(it.root, {
    'a.log': 'old',
    node_modules: { p: { 'index.js': 'old' } },
    vendor: { 'v.js': 'old' },
    '.preimage.json': '{ "exclude": ["**/*.log"] }',
  });
  await it.turn(
    'for f in a.log node_modules/p/index.js vendor/v.js; do echo new > $f; done',
    '--no-watch',
  );
  expect((await it.run(['rewind', '--json'])).code).toBe(1);
  const text = (name: string): string => fs.readFileSync(path.join(it.root, name), 'utf8');
  expect([text('a.log'), text('node_modules/p/index.js'), text('vendor/v.js')]).toEqual([
    'new\n',
    'new\n',
    'old',
  ]);
  const status = (await it.run(['status'])).stdout;
  for (const name of ['a.log', 'node_modules']) expect(status).toContain(name);
  await it.turn('echo newer > node_modules/p/index.js', '--include', 'node_modules', '--no-watch');
  expect((await it.run(['rewind', 't2'])).code).toBe(0);
  expect(text('node_modules/p/index.js')).toBe('new\n');
});
