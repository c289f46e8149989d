import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openStore, openTurn } from '../../src/index.js';
import { snapshot, temporary, tree } from '../support/tree.js';

/** Runs a turn in this process, rewinds it, and gives what stood before and what stands after. */
async function thereAndBack(
  make: (root: string) => void,
  change: (root: string) => void,
): Promise<{ before: unknown; after: unknown; paths: number }> {
  const base = temporary();
  const root = join(base, 'ws');
  fs.mkdirSync(root);
  make(root);
  const at = { root, store: join(base, 'store') };
  const describe = () => (fs.existsSync(join(root, DEEP)) ? deepSnapshot(root) : snapshot(root));
  const before = describe();
  const turn = await openTurn({ ...at, turn: 'x' });
  change(root);
  const { changes } = await turn.close();
  const store = openStore(at);
  const { complete } = await store.rewind({ turn: 'x' });
  store.close();
  expect(complete).toBe(true);
  return { before, after: describe(), paths: changes.length };
}

const DEEP = 'deep';

/**
 * Describes a chain of directories that is too deep for any path: goes down by `chdir` in a way of its
 * own, one name at a time.
 */
function deepSnapshot(root: string): string[] {
  const seen: string[] = [];
  inside(join(root, DEEP), () => {
    for (let level = 0; ; level++) {
      const names = fs.readdirSync('.').sort();
      const files = names.filter((name) => fs.lstatSync(name).isFile());
      seen.push(`${level} ${fs.lstatSync('.').mode} ${names.join()}`);
      for (const name of files) seen.push(`${level} ${name} ${fs.readFileSync(name, 'utf8')}`);
      const next = names.find((name) => fs.lstatSync(name).isDirectory());
      if (next === undefined) return;
      process.chdir(next);
    }
  });
  return seen;
}

/** Makes directories one below the other and a file in the last. */
function makeDeep(root: string, levels: number, name: string): void {
  fs.mkdirSync(join(root, DEEP));
  inside(join(root, DEEP), () => {
    for (let level = 0; level < levels; level++) {
      fs.mkdirSync(name);
      process.chdir(name);
    }
    fs.writeFileSync('leaf.txt', 'old');
  });
}

/** More than a call stack holds of a walk's frames, and than a process may have descriptors. */
const LEVELS = 3000;

/** Node's own way takes whole paths. */
function removeDeep(directory: string): void {
  spawnSync('rm', ['-rf', directory]);
}

function changeDeep(root: string, name: string, change: () => void): void {
  inside(join(root, DEEP), () => {
    while (fs.existsSync(name)) process.chdir(name);
    change();
  });
}

function inside(directory: string, run: () => void): void {
  const home = process.cwd();
  process.chdir(directory);
  try {
    run();
  } finally {
    process.chdir(home);
  }
}

test('a path of over 4,096 bytes is put back: edited, made and removed', async () => {
  const name = 'd'.repeat(200);
  const { before, after, paths } = await thereAndBack(
    (root) => makeDeep(root, 30, name),
    (root) =>
      changeDeep(root, name, () => {
        fs.writeFileSync('leaf.txt', 'new');
        fs.writeFileSync('made.txt', 'made');
      }),
  );
  expect(paths).toBe(2);
  expect(after).toEqual(before);
});

test('a tree of 3,000 levels is put back', async () => {
  const { before, after } = await thereAndBack(
    (root) => makeDeep(root, LEVELS, 'd'),
    (root) => changeDeep(root, 'd', () => fs.writeFileSync('leaf.txt', 'new')),
  );
  expect(after).toEqual(before);
});

test('a tree of 3,000 levels that is removed whole is put back', async () => {
  const { before, after, paths } = await thereAndBack(
    (root) => makeDeep(root, LEVELS, 'd'),
    (root) => removeDeep(join(root, DEEP)),
  );
  expect(paths).toBe(LEVELS + 2);
  expect(after).toEqual(before);
});

test('20,000 entries in one directory are put back', async () => {
  const many = (text: string) => (root: string) => {
    for (let i = 0; i < 20_000; i += text === 'old' ? 1 : 7) {
      fs.writeFileSync(join(root, `file-${i}`), `${text} ${i}`);
    }
  };
  const { before, after, paths } = await thereAndBack(many('old'), (root) => {
    many('new')(root);
    for (let i = 1; i < 20_000; i += 1000) fs.rmSync(join(root, `file-${i}`), { force: true });
  });
  expect(paths).toBeGreaterThan(2857);
  expect(after).toEqual(before);
}, 60_000);

test('a store inside the workspace never scans itself and survives the rewind', async () => {
  const root = tree(join(temporary(), 'ws'), { 'a.txt': 'old', sub: { 'b.txt': 'old' } });
  const at = { root, store: join(root, 'sub', '.undo') };
  const inStore = (path: string) => path === 'sub/.undo' || path.startsWith('sub/.undo/');
  const before = snapshot(root, inStore);
  const turn = await openTurn({ ...at, turn: 'x' });
  fs.writeFileSync(join(root, 'a.txt'), 'new');
  fs.rmSync(join(root, 'sub/b.txt'));
  const { changes } = await turn.close();
  expect(changes.map(({ path }) => path)).toEqual(['a.txt', 'sub/b.txt']);
  const store = openStore(at);
  expect((await store.rewind()).complete).toBe(true);
  store.close();
  expect(snapshot(root, inStore)).toEqual(before);
});

test('what a rewind does not put back it does not touch: no mtime, no inode moves', async () => {
  const root = tree(join(temporary(), 'ws'), {
    'a.txt': 'old',
    'b.txt': 'b',
    dir: { 'c.txt': 'c' },
  });
  const facts = () =>
    ['b.txt', 'dir', 'dir/c.txt'].map((name) => {
      const { ino, mtimeNs, ctimeNs } = fs.lstatSync(join(root, name), { bigint: true });
      return [name, ino, mtimeNs, ctimeNs];
    });
  const at = { root, store: join(temporary(), 'store') };
  const before = facts();
  const turn = await openTurn({ ...at, turn: 'x' });
  fs.writeFileSync(join(root, 'a.txt'), 'new');
  await turn.close();
  const store = openStore(at);
  await store.rewind();
  await store.redo();
  store.close();
  expect(facts()).toEqual(before);
});
