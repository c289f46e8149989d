import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { type Lab, lab } from '../support/cli.js';
import { dir, exec, file, snapshot, symlink, tree } from '../support/tree.js';
import { git, gitState, repositoryOnce } from './repository.js';
import { differences, thereAndBack } from './round.js';

const repositoryAtWork = repositoryOnce();

/** Every kind of thing that a rewind can make anew. */
function everything(): Lab {
  const at = lab();
  tree(at.root, {
    'a.txt': 'a\n',
    '.hidden': { '.deeper': 'h\n' },
    empty: dir(0o755),
    'closed to others': dir(0o700, { secret: file('s\n', 0o600) }),
    'read only': dir(0o555, { 'read only': file('r\n', 0o444) }),
    'bin/run': exec('#!/bin/sh\n'),
    'link to file': symlink('a.txt'),
    'link to directory': symlink('bin'),
    'link to nothing': symlink('/no/such/place'),
    '-rf': 'a name like an option\n',
    'new\nline and "quotes"': 'n\n',
    'ünï 🦊 漢字': { é: 'composed\n', 'e\u0301': 'with a combining accent\n' },
    'nothing in it': '',
    a: { b: { c: { d: { e: { f: 'deep\n' } } } } },
    'large.bin': Buffer.alloc(2_000_000, 'large'),
  });
  return at;
}

const REMOVE_ALL = 'chmod -R u+w .; find . -mindepth 1 -delete';

test('rm -rf of all that is in the workspace is undone', async () => {
  const { left } = await thereAndBack(everything(), REMOVE_ALL);
  expect(Object.keys(left)).toEqual(['.']);
});

test('rm -rf of all but the dot files, as a shell glob has it, is undone', async () => {
  await thereAndBack(everything(), 'chmod -R u+w .; rm -rf -- *');
});

test('rm -rf of the workspace itself is undone by a rewind with --root', async () => {
  const at = everything();
  const { left } = await thereAndBack(at, `chmod -R u+w '${at.root}'; rm -rf '${at.root}'`, {
    cwd: path.dirname(at.root),
    watch: ['--root', at.root],
    rewind: ['--root', at.root],
  });
  expect(left).toEqual({});
});

test('so it is where the command stood in the directory that it removed', async () => {
  const at = everything();
  const before = snapshot(at.root);
  await at.turn(`chmod -R u+w .; rm -rf '${at.root}'`);
  expect(existsSync(at.root)).toBe(false);
  const cwd = path.dirname(at.root);
  const rewound = await at.run(['rewind', '--root', at.root], { cwd });
  expect(rewound.stderr).toBe('');
  expect(differences(before, snapshot(at.root))).toEqual([]);
  expect(rewound.code).toBe(0);
});

test('a workspace that was moved away and made anew empty is filled again', async () => {
  const at = everything();
  const moved = `${at.root}-moved`;
  const { before } = await thereAndBack(at, `mv '${at.root}' '${moved}'; mkdir '${at.root}'`, {
    cwd: path.dirname(at.root),
    watch: ['--root', at.root],
    rewind: ['--root', at.root],
  });
  expect(differences(before, snapshot(moved))).toEqual([]);
});

test('removed and written again with other contents, all is as before', async () => {
  const { left } = await thereAndBack(
    everything(),
    `${REMOVE_ALL}; mkdir a.txt; echo x > a.txt/x; echo x > a; ln -s /etc bin; echo x > empty`,
  );
  expect(left.bin).toMatch(/^link \/etc /);
});

test('what a turn made and removed again leaves nothing behind', async () => {
  const at = everything();
  const names = readdirSync(at.root);
  await thereAndBack(at, 'mkdir -p tmp/x; echo 1 > tmp/x/y; rm -rf tmp; echo 2 >> a.txt');
  expect(readdirSync(at.root)).toEqual(names);
});

test('a repository that was removed whole is back with --git, history and all', async () => {
  const at = repositoryAtWork();
  const state = await gitState(at);
  const { left } = await thereAndBack(at, 'find . -mindepth 1 -delete', { rewind: ['--git'] });
  expect(Object.keys(left)).toEqual(['.']);
  expect(await gitState(at)).toEqual(state);
  expect(await git(at, 'log', '--oneline', '--all')).toContain('second');
});

test('the history outlives rm -rf: the turn can still be listed, shown and taken back', async () => {
  const at = everything();
  const { before, left } = await thereAndBack(at, REMOVE_ALL);
  const { turns } = await at.json<{ turns: { turn: string; status: string }[] }>(['list']);
  expect(turns).toMatchObject([{ turn: 't1', status: 'rewound' }]);
  expect((await at.run(['redo'])).code).toBe(0);
  expect(differences(left, snapshot(at.root))).toEqual([]);
  expect((await at.run(['rewind'])).code).toBe(0);
  expect(differences(before, snapshot(at.root))).toEqual([]);
});
