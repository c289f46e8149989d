import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { lab } from '../support/cli.js';
import { dir, file, snapshot, symlink, temporary, tree } from '../support/tree.js';

test('what the user edited after the turn is a conflict, and left alone', async () => {
  const it = lab();
  tree(it.root, { 'a.txt': 'old', 'b.txt': 'old', 'c.txt': 'old' });
  await it.turn('for f in a b c; do echo turn > $f.txt; done; echo turn > made', '--no-watch');
  tree(it.root, { 'a.txt': 'user', made: 'user' });
  fs.chmodSync(path.join(it.root, 'c.txt'), 0o600);
  const after = snapshot(it.root);
  const run = await it.run(['rewind']);
  expect(run.code).toBe(1);
  for (const name of ['a.txt', 'c.txt', 'made']) {
    expect(run.stdout).toMatch(new RegExp(`^conflict +${name.replace('.', '\\.')} +\\w`, 'm'));
  }
  const { 'b.txt': _, ...others } = after;
  const { 'b.txt': b, ...left } = snapshot(it.root);
  expect(left).toEqual(others);
  expect(b).toBeDefined();
  expect(fs.readFileSync(path.join(it.root, 'b.txt'), 'utf8')).toBe('old');
});

test('with --force a conflict is captured and put back, and redo brings the user’s edit again', async () => {
  const it = lab();
  tree(it.root, { 'a.txt': 'old', link: symlink('a.txt'), dir: { f: 'f' } });
  const before = snapshot(it.root);
  await it.turn('echo turn > a.txt; echo turn > made; ln -sfn b link; rm -r dir', '--no-watch');
  tree(it.root, { 'a.txt': 'user', made: 'user', dir: 'user' });
  fs.rmSync(path.join(it.root, 'link'));
  tree(it.root, { link: symlink('user') });
  const edited = snapshot(it.root);
  expect((await it.run(['rewind'])).code).toBe(1);
  expect(snapshot(it.root)).toEqual(edited);
  expect((await it.run(['rewind', '--force'])).code).toBe(0);
  expect(snapshot(it.root)).toEqual(before);
  expect((await it.run(['redo'])).code).toBe(0);
  expect(snapshot(it.root)).toEqual(edited);
});

test('what the user had put back by hand is unchanged, not a conflict', async () => {
  const it = lab();
  tree(it.root, { 'a.txt': 'old', 'b.txt': 'old' });
  const before = snapshot(it.root);
  await it.turn('echo turn > a.txt; rm b.txt; echo turn > made', '--no-watch');
  tree(it.root, { 'a.txt': 'old', 'b.txt': 'old' });
  fs.rmSync(path.join(it.root, 'made'));
  const unchanged = { outcome: 'unchanged' };
  expect(await it.json(['rewind'])).toMatchObject({
    complete: true,
    outcomes: [unchanged, unchanged, unchanged],
  });
  expect(snapshot(it.root)).toEqual(before);
});

test('a file that the user made after the turn is not deleted', async () => {
  const it = lab();
  await it.turn('echo turn > made', '--no-watch');
  tree(it.root, { 'mine.txt': 'user', '.hidden': 'user' });
  expect((await it.run(['rewind'])).code).toBe(0);
  expect(fs.readdirSync(it.root)).toEqual(['.hidden', 'mine.txt']);
});

test('a directory that the turn made stays while a file of the user is in it', async () => {
  const it = lab();
  await it.turn('mkdir -p made/deep other; echo > made/deep/a; echo > made/b', '--no-watch');
  tree(it.root, { made: { deep: { 'mine.txt': 'user' } } });
  const run = await it.run(['rewind', '--json']);
  expect(run.code).toBe(1);
  expect(JSON.parse(run.stdout)).toMatchObject({
    outcomes: [
      { path: 'made', outcome: 'conflict' },
      { path: 'made/b', outcome: 'deleted' },
      { path: 'made/deep', outcome: 'conflict', reason: expect.stringContaining('mine.txt') },
      { path: 'made/deep/a', outcome: 'deleted' },
      { path: 'other', outcome: 'deleted' },
    ],
  });
  expect(Object.keys(snapshot(it.root))).toEqual(['.', 'made', 'made/deep', 'made/deep/mine.txt']);
  await it.run(['rewind', '--force']);
  expect(fs.readFileSync(path.join(it.root, 'made/deep/mine.txt'), 'utf8')).toBe('user');
});

test('a rewind that met a conflict can be run again when the conflict is gone', async () => {
  const it = lab();
  tree(it.root, { 'a.txt': 'old', 'b.txt': 'old' });
  const before = snapshot(it.root);
  await it.turn('echo turn > a.txt; echo turn > b.txt', '--no-watch');
  tree(it.root, { 'a.txt': 'user' });
  expect((await it.run(['rewind', 't1'])).code).toBe(1);
  tree(it.root, { 'a.txt': 'turn\n' });
  expect((await it.run(['rewind', 't1'])).code).toBe(0);
  expect(snapshot(it.root)).toEqual(before);
});

test('an edit between two turns is not rewound over in silence', async () => {
  const it = lab();
  tree(it.root, { 'a.txt': 'old', 'b.txt': 'old' });
  await it.turn('echo one > a.txt; echo one > b.txt', '--no-watch');
  tree(it.root, { 'a.txt': 'user' });
  await it.turn('echo two > a.txt', '--no-watch');
  const run = await it.run(['rewind', 't1', '--json']);
  expect(run.code).toBe(1);
  expect(JSON.parse(run.stdout)).toMatchObject({
    outcomes: [
      { path: 'a.txt', outcome: 'conflict' },
      { path: 'b.txt', outcome: 'restored' },
    ],
  });
  expect((await it.run(['rewind', 't2'])).code).toBe(0);
  expect(fs.readFileSync(path.join(it.root, 'a.txt'), 'utf8')).toBe('user');
});

test('two turns at the same time: what both changed is a conflict, the rest is put back', async () => {
  const it = lab();
  tree(it.root, { both: 'old', mine: 'old' });
  await it.run(['open', '--turn', 'a', '--no-watch']);
  tree(it.root, { both: 'a', mine: 'a' });
  await it.run(['open', '--turn', 'b', '--no-watch']);
  tree(it.root, { both: 'b' });
  await it.run(['close', '--turn', 'a']);
  tree(it.root, { theirs: 'b' });
  await it.run(['close', '--turn', 'b']);
  expect((await it.run(['show', 'a'])).stdout).toMatch(/at the same time: b/);
  const run = await it.run(['rewind', 'a', '--json']);
  expect(run.code).toBe(1);
  expect(JSON.parse(run.stdout)).toMatchObject({
    turns: ['a'],
    outcomes: [
      { path: 'both', outcome: 'conflict' },
      { path: 'mine', outcome: 'restored' },
    ],
  });
  expect(fs.readFileSync(path.join(it.root, 'theirs'), 'utf8')).toBe('b');
  expect((await it.run(['rewind', 'a', 'both', '--force'])).code).toBe(0);
  expect(fs.readFileSync(path.join(it.root, 'both'), 'utf8')).toBe('old');
});

test('a rewind does not write or delete through a link that took the place of a directory', async () => {
  const it = lab();
  const outside = temporary();
  tree(it.root, { dir: { 'a.txt': 'old', 'gone.txt': 'old' } });
  await it.turn('echo turn > dir/a.txt; rm dir/gone.txt; echo turn > dir/made', '--no-watch');
  tree(outside, { 'a.txt': 'turn\n', made: 'turn\n' });
  fs.renameSync(path.join(it.root, 'dir'), path.join(it.root, 'moved'));
  fs.symlinkSync(outside, path.join(it.root, 'dir'));
  const before = snapshot(outside);
  for (const args of [['rewind'], ['rewind', '--force']]) {
    expect((await it.run(args)).code).toBeLessThan(2);
    expect(snapshot(outside)).toEqual(before);
  }
});

test('redo takes everything back: types, modes, links, pipes, empty directories, what was forced', async () => {
  const it = lab();
  tree(it.root, {
    text: 'old',
    gone: file('gone', 0o600),
    link: symlink('text'),
    'file-to-dir': 'file',
    'dir-to-file': { deep: { er: 'x' }, empty: {} },
    'link-to-dir': symlink('text'),
    mode: file('same', 0o644),
    closed: dir(0o750, { in: 'side' }),
  });
  execFileSync('mkfifo', ['pipe-to-file'], { cwd: it.root });
  fs.linkSync(path.join(it.root, 'text'), path.join(it.root, 'text-too'));
  const before = snapshot(it.root);
  await it.turn(
    'echo new > text; rm gone; ln -sfn gone link; rm file-to-dir; mkdir file-to-dir; ' +
      'echo x > file-to-dir/x; rm -r dir-to-file; echo f > dir-to-file; rm link-to-dir; ' +
      'mkdir link-to-dir; chmod 4711 mode; rm -r closed; rm pipe-to-file; echo p > pipe-to-file; ' +
      'mkfifo made-pipe; mkdir -p made/empty; chmod 1777 made',
    '--no-watch',
  );
  const names = (root: string) => fs.statSync(path.join(root, 'text')).ino;
  // The user goes on with some of it: only --force takes that along.
  tree(it.root, { text: 'user', mode: file('user', 0o640), closed: 'user', gone: { user: 'x' } });
  fs.rmSync(path.join(it.root, 'made/empty'), { recursive: true });
  const edited = snapshot(it.root);
  fs.rmSync(path.join(it.root, 'gone/user'));
  const emptied = snapshot(it.root);
  expect(emptied).not.toEqual(edited);
  for (let i = 0; i < 2; i++) {
    expect((await it.run(['rewind', '--force'])).code).toBe(0);
    expect(snapshot(it.root)).toEqual(before);
    expect(names(it.root)).toBe(fs.statSync(path.join(it.root, 'text-too')).ino);
    expect((await it.run(['redo'])).code).toBe(0);
    expect(snapshot(it.root)).toEqual(emptied);
    expect(names(it.root)).toBe(fs.statSync(path.join(it.root, 'text-too')).ino);
  }
  const nothing = await it.run(['redo']);
  expect(nothing).toMatchObject({ code: 3, stdout: '' });
});

test('--force has captured what it writes over before it writes: cat has it, and redo after redo', async () => {
  const it = lab();
  tree(it.root, { a: 'old' });
  await it.turn('echo turn > a', '--no-watch');
  for (const edit of ['user 1', 'user 2', 'user 3']) {
    tree(it.root, { a: edit });
    expect((await it.run(['rewind', 't1', '--force'])).code).toBe(0);
    expect(fs.readFileSync(path.join(it.root, 'a'), 'utf8')).toBe('old');
    expect((await it.run(['redo'])).code).toBe(0);
    expect(fs.readFileSync(path.join(it.root, 'a'), 'utf8')).toBe(edit);
  }
});

test('what the user edited after a rewind is not undone by redo, unless forced, and then captured', async () => {
  const it = lab();
  tree(it.root, { a: 'old', b: 'old' });
  await it.turn('echo turn > a; echo turn > b', '--no-watch');
  await it.run(['rewind']);
  tree(it.root, { a: 'the only copy' });
  const run = await it.run(['redo', '--json']);
  expect(JSON.parse(run.stdout)).toMatchObject({
    outcomes: [
      { path: 'a', outcome: 'conflict' },
      { path: 'b', outcome: 'restored' },
    ],
  });
  expect(fs.readFileSync(path.join(it.root, 'a'), 'utf8')).toBe('the only copy');
  expect((await it.run(['redo', '--force'])).code).toBe(0);
  expect(fs.readFileSync(path.join(it.root, 'a'), 'utf8')).toBe('turn\n');
  const kept = execFileSync('grep', ['-rlaF', 'the only copy', it.home], { encoding: 'utf8' });
  expect(kept).toMatch(/\.pack$/m);
});
