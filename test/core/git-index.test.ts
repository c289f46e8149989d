import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type GitIndex, parseIndex, sameIndex } from '../../src/core/git/index-file.js';
import { command, testWith } from '../support/machine.js';
import { temporary, tree } from '../support/tree.js';

const GIT = command('git');

/** A repository of git itself, with an index of one version; `format` is that of object names. */
function repository(version: number, format = 'sha1'): string {
  const at = temporary('preimage-index');
  git(at, 'init', '--quiet', `--object-format=${format}`);
  git(at, 'config', 'index.version', String(version));
  tree(at, {
    'a.txt': 'a',
    'a long name, one that is longer than eight': 'x',
    'src/app.js': '1',
    'src/app.test.js': '2',
    'src/deep/er/é\n': 'odd',
    [`long/${'n'.repeat(200)}`]: 'long',
  });
  mkdirSync(path.join(at, 'tools'));
  writeFileSync(path.join(at, 'tools/run'), '#!', { mode: 0o755 });
  git(at, 'add', '--all');
  return at;
}

for (const [version, format] of [
  [2, 'sha1'],
  [3, 'sha1'],
  [4, 'sha1'],
  [2, 'sha256'],
  [4, 'sha256'],
] as const) {
  testWith(
    [GIT],
    `an index of version ${version} with ${format} names says what git says of it`,
    async () => {
      const at = repository(version, format);
      // Only entries with more flags make git write version 3.
      if (version === 3) git(at, 'update-index', '--skip-worktree', 'a.txt');
      expect(readFileSync(path.join(at, '.git/index')).readUInt32BE(4)).toBe(version);
      expect(told(indexOf(at))).toEqual(toldByGit(at));
    },
  );
}

testWith([GIT], 'an index in the middle of a conflict tells all its stages', async () => {
  const at = repository(2);
  git(at, 'commit', '--quiet', '-m', 'one');
  git(at, 'branch', 'other');
  writeFileSync(path.join(at, 'a.txt'), 'x');
  git(at, 'commit', '--quiet', '--all', '-m', 'x');
  git(at, 'checkout', '--quiet', 'other');
  writeFileSync(path.join(at, 'a.txt'), 'y');
  git(at, 'commit', '--quiet', '--all', '-m', 'y');
  expect(() => git(at, 'merge', '--quiet', '-')).toThrow();
  expect(indexOf(at).entries.filter(({ stage }) => stage > 0)).toHaveLength(3);
  expect(told(indexOf(at))).toEqual(toldByGit(at));
});

testWith(
  [GIT],
  'new stat data and a new cache leave an index the same; all else makes it another',
  async () => {
    const at = repository(2);
    git(at, 'commit', '--quiet', '-m', 'one');
    const before = indexOf(at);
    const bytes = readFileSync(path.join(at, '.git/index'));
    utimesSync(path.join(at, 'a.txt'), 1, 1);
    git(at, 'status');
    expect(readFileSync(path.join(at, '.git/index')).equals(bytes)).toBe(false);
    expect(sameIndex(before, indexOf(at))).toBe(true);
    git(at, 'update-index', '--untracked-cache');
    git(at, 'update-index', '--index-version', '4');
    expect(sameIndex(before, indexOf(at))).toBe(true);
    const edits: readonly (readonly string[])[] = [
      ['update-index', '--chmod=+x', 'a.txt'],
      ['update-index', '--assume-unchanged', 'a.txt'],
      ['update-index', '--skip-worktree', 'src/app.js'],
      ['rm', '--cached', '--quiet', 'src/app.test.js'],
      ['update-index', '--add', '--cacheinfo', `100644,${'1'.repeat(40)},new`],
    ];
    for (const edit of edits) {
      const last = indexOf(at);
      git(at, ...edit);
      expect({ edit, same: sameIndex(last, indexOf(at)) }).toEqual({ edit, same: false });
    }
  },
);

testWith(
  [GIT],
  'an index that is split or sparse is not read, for part of it is elsewhere',
  async () => {
    const split = repository(2);
    git(split, 'update-index', '--split-index');
    expect(parseIndex(readFileSync(path.join(split, '.git/index')))).toBe('unreadable');
  },
);

testWith([GIT], 'an index that is cut off, or has a byte too many, is not read', async () => {
  for (const version of [2, 4]) {
    const bytes = readFileSync(path.join(repository(version), '.git/index'));
    for (let length = 0; length < bytes.length; length++) {
      expect({ length, index: parseIndex(bytes.subarray(0, length)) }).toEqual({
        length,
        index: 'unreadable',
      });
    }
    expect(parseIndex(Buffer.concat([bytes, Buffer.alloc(1)]))).toBe('unreadable');
  }
});

test('bytes that are anything but an index are not read, and nothing is thrown', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), fc.constantFrom(2, 3, 4, 5), (tail, version) => {
      expect(parseIndex(tail)).toBe('unreadable');
      const header = Buffer.from('DIRC\0\0\0\0\0\0\0\x03', 'latin1');
      header.writeUInt32BE(version, 4);
      parseIndex(Buffer.concat([header, tail]));
    }),
  );
});

function git(at: string, ...args: readonly string[]): string {
  const who = ['-c', 'user.name=a', '-c', 'user.email=a@b'];
  const env = { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' };
  return execFileSync('git', [...who, ...args], {
    cwd: at,
    env,
    encoding: 'latin1',
    stdio: 'pipe',
  });
}

function indexOf(at: string): GitIndex {
  const index = parseIndex(readFileSync(path.join(at, '.git/index')));
  if (index === 'unreadable') throw new Error('the index is not read');
  return index;
}

/** As `git ls-files --stage -z` prints it. */
function told({ entries }: GitIndex): string[] {
  return entries.map(({ path: name, stage, content }) => {
    const [mode, id] = content.split(' ');
    return `${mode} ${id} ${stage}\t${name}`;
  });
}

function toldByGit(at: string): string[] {
  return git(at, 'ls-files', '--stage', '-z')
    .split('\0')
    .filter((line) => line !== '');
}
