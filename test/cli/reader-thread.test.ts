import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { expect } from 'vitest';
import { verifyStore } from '../../src/index.js';
import { CLI, type Lab, lab, runProcess } from '../support/cli.js';
import { SMALL_DISKS, TWO_PROCESSORS, testWith } from '../support/machine.js';
import { smallDisk } from '../support/small-disk.js';
import { snapshot, tree } from '../support/tree.js';

/** More than are read before the second thread is started. */
const MANY = 4000;

testWith(
  [TWO_PROCESSORS],
  'files that a second thread reads are safe, and come back exactly',
  async () => {
    const it = lab();
    fill(it.root, MANY);
    const before = snapshot(it.root);
    await it.turn('for f in d*; do rm -r $f; done');
    // Each thread writes a pack of its own: both were at work.
    const packs = fs
      .readdirSync(path.join(storeOf(it), 'packs'))
      .filter((name) => /pack$/.test(name));
    expect(packs.length).toBeGreaterThan(1);
    expect((await it.run(['rewind'])).code).toBe(0);
    expect(snapshot(it.root)).toEqual(before);
    expect(verifyStore({ root: it.root, store: storeOf(it) })).toMatchObject({ findings: [] });
  },
);

testWith(
  [TWO_PROCESSORS],
  'what changes while two threads read is what it was at one moment',
  async () => {
    const it = lab();
    fill(it.root, MANY);
    const versions = Array.from({ length: 50 }, (_, i) => `${i}`.repeat(2000 + i));
    let at = 0;
    const names = ['d3/f31', 'd20/f205', 'd39/f399'];
    const write = () => {
      for (const name of names) fs.writeFileSync(path.join(it.root, name), versions[at % 50] ?? '');
      at += 1;
    };
    write();
    const timer = setInterval(write, 1);
    const run = await it.run(['watch', '--no-watch', '--turn', 'x', '--', 'true']);
    clearInterval(timer);
    expect(run.code).toBe(0);
    await it.run(['rewind', 'x', '--force']);
    // Made empty, then written: both stood there at some moment.
    for (const name of names) {
      expect(['', ...versions]).toContain(fs.readFileSync(path.join(it.root, name), 'utf8'));
    }
    expect(verifyStore({ root: it.root, store: storeOf(it) })).toMatchObject({ whole: true });
  },
);

testWith(
  [TWO_PROCESSORS, SMALL_DISKS],
  'a disk that is full ends both threads, and nothing is recorded',
  async () => {
    const it = lab();
    fill(it.root, MANY);
    const store = path.join(smallDisk('1m'), 'store');
    const args = [CLI, 'watch', '--no-watch', '--store', store, '--', 'touch', 'ran'];
    const { code, stderr } = await runProcess(process.execPath, args, {
      cwd: it.root,
      env: it.env,
    });
    expect([code, stderr]).toEqual([125, expect.stringMatching(/no space|disk is full/i)]);
    expect(fs.existsSync(path.join(it.root, 'ran'))).toBe(false);
    expect(fs.readdirSync(path.join(store, 'packs'))).toEqual([]);
  },
);

function storeOf({ home }: Lab): string {
  const [name = ''] = fs.readdirSync(home);
  return path.join(home, name);
}

function fill(root: string, files: number): void {
  for (let i = 0; i < files; i += 100) {
    const names = Array.from({ length: 100 }, (_, j) => [`f${i + j}`, content(i + j)] as const);
    tree(root, { [`d${i / 100}`]: Object.fromEntries(names) });
  }
}

function content(i: number): string {
  return crypto
    .createHash('sha512')
    .update(`${i}`)
    .digest('hex')
    .repeat(i % 20);
}
