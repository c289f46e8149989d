import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { type Image, openStore, openTurn } from '../../src/index.js';
import { type Need, testWith } from '../support/machine.js';
import { sha256 } from '../support/scan.js';
import { snapshot, temporary, tree } from '../support/tree.js';

const OLD = Buffer.alloc(300_000, 'old');
const LIMIT = 100_000;

/** Runs a turn over a workspace with one file over the limit, in a directory of some file system. */
async function turn(base: string, change: (root: string) => void) {
  const root = tree(join(base, 'ws'), { 'movie.mov': OLD, 'small.txt': 'x' });
  const at = { root, store: join(base, 'store') };
  const before = snapshot(root);
  const open = await openTurn({ ...at, turn: 'x', maxFile: LIMIT });
  change(root);
  const { changes } = await open.close();
  const movie = changes.find(({ path }) => path === 'movie.mov');
  const rewind = async () => {
    const store = openStore(at);
    const result = await store.rewind({ turn: 'x' });
    store.close();
    return result;
  };
  return { root, at, before, pre: movie?.before, post: movie?.after, rewind };
}

function hashOf(image: Image | undefined): string {
  return image?.kind === 'content' && image.type === 'file' ? image.sha256 : String(image?.kind);
}

const REMOVALS: Record<string, (root: string) => void> = {
  rm: (root) => fs.rmSync(join(root, 'movie.mov')),
  mv: (root) => fs.renameSync(join(root, 'movie.mov'), join(root, 'moved.mov')),
  'a replacement by rename': (root) => {
    fs.writeFileSync(join(root, 'next'), 'new');
    fs.renameSync(join(root, 'next'), join(root, 'movie.mov'));
  },
};

test.each(Object.entries(REMOVALS))(
  '%s of a file over the limit is undone at no cost in space',
  async (_, change) => {
    const { root, at, before, pre, rewind } = await turn(temporary(), change);
    expect(hashOf(pre)).toBe(sha256(OLD));
    const packs = fs
      .readdirSync(join(at.store, 'packs'))
      .map((name) => join(at.store, 'packs', name));
    const bytes = packs.reduce((sum, path) => sum + fs.statSync(path).size, 0);
    expect(bytes).toBeLessThan(50_000);
    expect((await rewind()).complete).toBe(true);
    expect(snapshot(root)).toEqual(before);
  },
);

test('a file over the limit that was written in place is skipped, and never deleted', async () => {
  const { root, pre, rewind } = await turn(temporary(), (root) => {
    const fd = fs.openSync(join(root, 'movie.mov'), 'r+');
    fs.writeSync(fd, 'NEW', 0);
    fs.closeSync(fd);
    fs.writeFileSync(join(root, 'small.txt'), 'y');
  });
  const clones = hashOf(pre) === sha256(OLD);
  if (!clones) expect(pre).toMatchObject({ kind: 'skipped', why: 'too-large' });
  const { complete, outcomes } = await rewind();
  expect(complete).toBe(clones);
  expect(outcomes.map(({ path }) => path)).toEqual(['movie.mov', 'small.txt']);
  expect(fs.readFileSync(join(root, 'small.txt'), 'utf8')).toBe('x');
  expect(fs.existsSync(join(root, 'movie.mov'))).toBe(true);
});

test('a file over the limit that only gets another mode is put back', async () => {
  const { root, before, rewind } = await turn(temporary(), (root) => {
    fs.chmodSync(join(root, 'movie.mov'), 0o600);
  });
  expect((await rewind()).complete).toBe(true);
  expect(snapshot(root)).toEqual(before);
});

test('the name that the store holds goes once nothing needs it', async () => {
  const { root, at } = await turn(temporary(), () => {});
  expect(fs.statSync(join(root, 'movie.mov')).nlink).toBeLessThanOrEqual(2);
  fs.rmSync(join(root, 'movie.mov'));
  const next = await openTurn({ ...at, turn: 'y', maxFile: LIMIT });
  await next.close();
  const links = join(at.store, 'big/links');
  expect(fs.existsSync(links) ? fs.readdirSync(links) : []).toEqual([]);
});

for (const type of ['btrfs', 'xfs'] as const) {
  const disk: Need = { name: `loop-mounted ${type}`, isHere: () => mounts(type) };
  testWith(
    [disk],
    `on ${type} a file over the limit is cloned: even a write in place is undone`,
    async () => {
      const at = mounted(type);
      const { root, before, pre, rewind } = await turn(at, (root) => {
        const fd = fs.openSync(join(root, 'movie.mov'), 'r+');
        fs.writeSync(fd, 'NEW', 0);
        fs.closeSync(fd);
      });
      expect(hashOf(pre)).toBe(sha256(OLD));
      expect((await rewind()).complete).toBe(true);
      expect(snapshot(root)).toEqual(before);
    },
  );
}

function mounts(type: 'btrfs' | 'xfs'): boolean {
  if (process.getuid?.() !== 0) return false;
  const made = makeDisk(type);
  if (made === undefined) return false;
  spawnSync('umount', ['-l', made.at]);
  fs.rmSync(made.base, { recursive: true, force: true });
  return true;
}

function mounted(type: 'btrfs' | 'xfs'): string {
  const made = makeDisk(type);
  if (made === undefined) throw new Error(`cannot mount ${type}`);
  onTestFinished(() => {
    spawnSync('umount', ['-l', made.at]);
    fs.rmSync(made.base, { recursive: true, force: true });
  });
  return made.at;
}

/** Makes a file system in a file of 320 MB (without blocks) and mounts it. */
function makeDisk(type: 'btrfs' | 'xfs'): { base: string; at: string } | undefined {
  const base = fs.mkdtempSync('/tmp/preimage-disk-');
  const image = join(base, 'image');
  const at = join(base, 'mount');
  fs.mkdirSync(at);
  fs.writeFileSync(image, '');
  fs.truncateSync(image, 320 * 1024 * 1024);
  const made = spawnSync(`mkfs.${type}`, ['-q', image]).status === 0;
  if (made && spawnSync('mount', ['-o', 'loop', image, at]).status === 0) return { base, at };
  fs.rmSync(base, { recursive: true, force: true });
  return undefined;
}
