import fs from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openStore, openTurn, type PreimageError } from '../../src/index.js';
import { snapshot, symlink, temporary, tree } from '../support/tree.js';

function workspace() {
  const base = temporary();
  const root = tree(join(base, 'ws'), {
    'a.txt': 'old',
    '.env': 'SECRET=1',
    node_modules: { pkg: { 'index.js': 'module' } },
    'big.bin': Buffer.alloc(5000, 1),
  });
  return { root, store: join(base, 'store') };
}

test('a turn around an agent’s own tools and any shell is put back as one', async () => {
  const at = workspace();
  const before = snapshot(at.root);
  const turn = await openTurn({ ...at, turn: 'agent', label: 'edit' });
  turn.write('a.txt', 'new');
  turn.write('made.txt', Buffer.from([0, 255]));
  fs.rmSync(join(at.root, '.env'));
  const { changes } = await turn.close();
  expect(changes.map(({ path }) => path)).toEqual(['.env', 'a.txt', 'made.txt']);
  const store = openStore(at);
  expect(store.list().map(({ turn: id, label }) => [id, label])).toEqual([['agent', 'edit']]);
  const plan = await store.planRewind({ turn: 'agent' });
  expect(snapshot(at.root)).not.toEqual(before);
  const done = await store.rewind({ turn: 'agent' });
  expect(done).toEqual(plan);
  expect(snapshot(at.root)).toEqual(before);
  await store.redo();
  expect(fs.readFileSync(join(at.root, 'a.txt'), 'utf8')).toBe('new');
  store.close();
});

test('a redo of some paths leaves the others to the next one', async () => {
  const at = workspace();
  const turn = await openTurn({ ...at, turn: 'agent' });
  turn.write('a.txt', 'new');
  turn.write('b.txt', 'new');
  await turn.close();
  const after = snapshot(at.root);
  const store = openStore(at);
  await store.rewind({ turn: 'agent' });
  await store.redo({ paths: [join(at.root, 'b.txt')] });
  expect(fs.readdirSync(at.root)).toContain('b.txt');
  expect(fs.readFileSync(join(at.root, 'a.txt'), 'utf8')).toBe('old');
  expect(store.list()).toMatchObject([{ turn: 'agent', status: 'closed' }]);
  await store.redo();
  expect(snapshot(at.root)).toEqual(after);
  await expect(store.redo()).rejects.toMatchObject({ code: 'nothing-to-do' });
  store.close();
});

test('a path captured by name is restorable even where a rule leaves it out', async () => {
  const at = workspace();
  const before = snapshot(at.root);
  const turn = await openTurn({ ...at, turn: 'x', maxFile: 100 });
  turn.capture('node_modules/pkg/index.js');
  turn.write('big.bin', 'small now');
  fs.writeFileSync(join(at.root, 'node_modules/pkg/index.js'), 'patched');
  turn.capture('node_modules/pkg/index.js');
  turn.write('node_modules/pkg/new.js', 'made');
  await turn.close();
  const store = openStore(at);
  const { outcomes } = await store.rewind({ turn: 'x' });
  store.close();
  const ours = outcomes.filter(({ path }) => path !== 'node_modules');
  expect(ours.map(({ outcome }) => outcome)).toEqual(['restored', 'restored', 'deleted']);
  expect(snapshot(at.root)).toEqual(before);
});

test('an explicit capture costs no scan', async () => {
  const at = workspace();
  const turn = await openTurn({ ...at, turn: 'x', exclude: ['dir'] });
  tree(join(at.root, 'dir'), { 'a.txt': 'made outside' });
  const reads = fs.readdirSync(at.root).length;
  const listed: string[] = [];
  const { readdirSync } = fs;
  // Any scan lists the root.
  fs.readdirSync = new Proxy(readdirSync, {
    apply: (target, self, args) => {
      listed.push(String(args[0]));
      return Reflect.apply(target, self, args);
    },
  });
  try {
    turn.capture('a.txt');
    turn.capture('dir/a.txt');
  } finally {
    fs.readdirSync = readdirSync;
  }
  expect(reads).toBeGreaterThan(0);
  expect(listed.filter((path) => path === at.root)).toEqual([]);
  await turn.close();
});

test.each(['../outside.txt', '/etc/passwd', 'a/../../x'])(
  '%s is refused: it is outside',
  async (path) => {
    const at = workspace();
    const turn = await openTurn({ ...at, turn: 'x' });
    const code = (error: unknown) => (error as PreimageError).code;
    expect(caught(() => turn.capture(path), code)).toBe('usage');
    expect(caught(() => turn.write(path, 'no'), code)).toBe('usage');
    await turn.close();
  },
);

test('a write never goes through a link that leads outside', async () => {
  const at = workspace();
  const outside = tree(join(temporary(), 'outside'), { 'a.txt': 'theirs' });
  tree(at.root, { link: symlink(outside), 'file-link': symlink(join(outside, 'a.txt')) });
  const turn = await openTurn({ ...at, turn: 'x' });
  expect(() => turn.write('link/a.txt', 'mine')).toThrow(/directory/);
  turn.write('file-link', 'mine');
  await turn.close();
  expect(fs.readFileSync(join(outside, 'a.txt'), 'utf8')).toBe('theirs');
  expect(fs.lstatSync(join(at.root, 'file-link')).isFile()).toBe(true);
});

test('a write keeps the permission bits of the file that it replaces', async () => {
  const at = workspace();
  fs.chmodSync(join(at.root, '.env'), 0o600);
  const turn = await openTurn({ ...at, turn: 'x' });
  turn.write('.env', 'SECRET=2');
  await turn.close();
  expect(fs.statSync(join(at.root, '.env')).mode & 0o777).toBe(0o600);
});

function caught<T>(run: () => void, of: (error: unknown) => T): T | 'nothing' {
  try {
    run();
    return 'nothing';
  } catch (error) {
    return of(error);
  }
}
