import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { lab } from '../support/cli.js';
import { dir, type Entry, exec, file, snapshot, symlink, tree } from '../support/tree.js';

type Tree = Record<string, Entry>;

/** What stood, and what a turn did to it: each must come back exactly, and go again by redo. */
const CASES: readonly (readonly [what: string, before: Tree, turn: string])[] = [
  ['an empty directory that was deleted', { empty: {}, a: { b: { c: {} } } }, 'rm -r empty a'],
  ['an empty directory that was filled', { empty: {} }, 'echo x > empty/x; mkdir empty/y'],
  ['an empty file', { empty: '', full: 'full' }, 'echo x > empty; : > full'],
  [
    'permission bits, the special ones as well',
    {
      secret: file('s', 0o600),
      tool: exec('t'),
      suid: file('u', 0o4755),
      sgid: file('g', 0o2755),
      none: file('n', 0o000),
      closed: dir(0o700, { in: file('i', 0o400) }),
      sticky: dir(0o1777),
    },
    'chmod 644 secret tool suid sgid none closed/in; chmod 755 closed sticky; echo x > suid',
  ],
  [
    'files with special permission bits that were deleted',
    { secret: file('s', 0o600), suid: file('u', 0o4755), ro: dir(0o555, { f: file('f', 0o444) }) },
    'chmod 755 ro; rm -rf secret suid ro',
  ],
  [
    'links, also those that lead nowhere',
    {
      'a.txt': 'a',
      kept: symlink('a.txt'),
      dangling: symlink('no/where'),
      up: symlink('../..'),
      loop: symlink('loop'),
      self: symlink('.'),
    },
    'for l in kept up; do ln -sfn other $l; done; rm dangling loop self; ln -s a.txt made',
  ],
  [
    'a link that was followed by a write',
    { 'a.txt': 'a', link: symlink('a.txt') },
    'echo new > link; rm a.txt',
  ],
  [
    'files, directories and links that took each other’s places',
    {
      'file-dir': 'f',
      'file-link': 'f',
      'dir-file': { in: { deep: 'd' } },
      'dir-link': { in: 'd', sub: {} },
      'link-file': symlink('file-dir'),
      'link-dir': symlink('nowhere'),
    },
    [
      'rm -r *; mkdir -p file-dir/made/deep link-dir/x; echo > file-dir/made/deep/f',
      'ln -s link-dir file-link; ln -s .. dir-link; echo f > dir-file; echo f > link-file',
    ].join('\n'),
  ],
  [
    'files that swapped their names',
    { a: exec('a'), b: file('b', 0o600), d: { x: 'x' }, e: { y: 'y' } },
    'mv a t; mv b a; mv t b; mv d t; mv e d; mv t e',
  ],
  ['a file whose name changed only in case', { readme: 'r' }, 'mv readme README'],
  [
    'names that terminals and shells stumble over',
    {
      'new\nline': '1',
      '"quotes\'': '2',
      '-rf': '3',
      'trailing ': '4',
      ' leading': '5',
      '🦀 emoji é e\u0301': '6',
      '\u001b[31mred\u001b]0;title\u0007': '7',
      'back\\slash': '8',
      '*': '9',
      '~': { $HOME: '10', '`id`': symlink('\n') },
      ['x'.repeat(255)]: '11',
      ['é'.repeat(127)]: { constructor: '12', __proto__x: '13' },
    },
    'find . -type f -exec sh -c \'for f; do echo new >> "$f"; done\' _ {} +; rm -r -- "~" "-rf" "*"; mkdir "*"',
  ],
  ['everything, removed', { a: { b: { c: 'c' } }, '.hidden': 'h', d: {} }, 'rm -rf a d .hidden'],
];

test.each(CASES)(
  '%s: rewind puts it back exactly, redo takes it away again',
  async (_, before, turn) => {
    const it = lab();
    tree(it.root, before);
    const old = snapshot(it.root);
    await it.turn(turn, '--no-watch');
    const now = snapshot(it.root);
    expect(now).not.toEqual(old);
    const run = await it.run(['rewind']);
    expect(run).toMatchObject({ code: 0, stderr: '' });
    expect(snapshot(it.root)).toEqual(old);
    expect((await it.run(['redo'])).code).toBe(0);
    expect(snapshot(it.root)).toEqual(now);
  },
);

test('names that are not UTF-8 come back byte for byte, beside their lossy twins', async () => {
  const it = lab();
  const at = (name: string): Buffer => Buffer.from(`${it.root}/${name}`, 'latin1');
  fs.mkdirSync(at('d\xff'));
  fs.writeFileSync(at('d\xff/caf\xe9'), 'old');
  fs.writeFileSync(at('caf\xe9'), 'old');
  fs.writeFileSync(path.join(it.root, 'caf\ufffd'), 'twin');
  fs.symlinkSync(Buffer.from('t\xe9', 'latin1'), at('l\xfe'));
  const before = snapshot(it.root);
  await it.turn('rm -r d*; ln -sfn x l*; echo new >> "$(printf \'caf\\351\')"', '--no-watch');
  expect((await it.run(['rewind'])).code).toBe(0);
  expect(snapshot(it.root)).toEqual(before);
});

test('a read-only directory whose entries were changed comes back, mode and all', async () => {
  const it = lab();
  tree(it.root, { ro: dir(0o500, { 'a.txt': file('old', 0o400), sub: dir(0o500, { b: 'b' }) }) });
  const before = snapshot(it.root);
  const script = 'chmod -R u+w ro; echo new > ro/a.txt; rm ro/sub/b; chmod 500 ro ro/sub';
  await it.turn(script, '--no-watch');
  expect((await it.run(['rewind'])).code).toBe(0);
  expect(snapshot(it.root)).toEqual(before);
});

test('.git is captured and left alone, unless --git is given', async () => {
  const it = lab();
  tree(it.root, { 'a.txt': 'old\n', sub: { 'b.txt': 'old\n' } });
  const git = 'git -c user.name=n -c user.email=e@x -c init.defaultBranch=main';
  await it.turn(`${git} init -q && git add -A && ${git} commit -qm first`, '--no-watch');
  const before = snapshot(it.root);
  await it.turn(
    `echo new > a.txt; rm -r sub; ${git} commit -qam second; git checkout -qb other; git stash -q || :`,
    '--no-watch',
  );
  const after = snapshot(it.root);
  const isGit = (name: string): boolean => /^\.git(\/|$)/.test(name);
  expect((await it.run(['rewind', 't2'])).code).toBe(0);
  expect(only(snapshot(it.root), isGit)).toEqual(only(after, isGit));
  expect(snapshot(it.root, isGit)).toEqual(snapshotWithout(before, isGit));
  expect((await it.run(['redo'])).code).toBe(0);
  expect(snapshot(it.root)).toEqual(after);
  expect((await it.run(['rewind', 't2', '--git'])).code).toBe(0);
  expect(snapshot(it.root)).toEqual(before);
});

test('nothing is written inside the workspace by looking at it', async () => {
  const it = lab();
  tree(it.root, { 'a.txt': 'old', d: { e: {} } });
  const stamps = (): string[] =>
    ['.', 'a.txt', 'd', 'd/e'].map((name) => {
      const { mtimeNs, ctimeNs } = fs.lstatSync(path.join(it.root, name), { bigint: true });
      return `${name} ${mtimeNs} ${ctimeNs}`;
    });
  const before = stamps();
  await it.turn('true');
  for (const args of [['list'], ['show', 't1'], ['status'], ['diff', 't1'], ['rewind']]) {
    expect((await it.run(args)).code).toBe(0);
  }
  expect(stamps()).toEqual(before);
});

function only(all: Record<string, string>, wanted: (name: string) => boolean): typeof all {
  return Object.fromEntries(Object.entries(all).filter(([name]) => wanted(name)));
}

function snapshotWithout(all: Record<string, string>, drop: (name: string) => boolean): typeof all {
  return only(all, (name) => !drop(name));
}
