import { utimesSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { type Lab, lab } from '../support/cli.js';
import { snapshot, tree } from '../support/tree.js';
import { git, gitState, repositoryOnce } from './repository.js';
import { calm, differences, rewoundFrom, troubles } from './round.js';

const repositoryAtWork = repositoryOnce();

const COMMIT = 'git add --all; git commit --quiet -m turn';

/** Looks at a repository as people do: git writes the new stat data of a file into its index. */
async function look(at: Lab): Promise<void> {
  const env = { ...at.env, GIT_OPTIONAL_LOCKS: '1' };
  utimesSync(path.join(at.root, 'README.md'), 1, 1);
  const before = snapshot(at.root)['.git/index'];
  await git({ root: at.root, env }, 'update-index', '--refresh', '-q', '--really-refresh');
  expect(snapshot(at.root)['.git/index']).not.toBe(before);
}

async function turn(at: Lab, script: string): Promise<void> {
  const run = await at.run(['watch', '--no-watch', '--', 'sh', '-ec', script], { env: calm(at) });
  expect(run.code, run.stderr).toBe(0);
}

test('a look at the repository after the turn is no edit of its index', async () => {
  const at = repositoryAtWork();
  const [before, state] = [snapshot(at.root), await gitState(at)];
  await turn(at, COMMIT);
  await look(at);
  const rewound = rewoundFrom(await at.run(['rewind', '--git', '--json']));
  expect(troubles(rewound)).toEqual([]);
  expect(differences(before, snapshot(at.root))).toEqual([]);
  expect(await gitState(at)).toEqual(state);
});

test('a look between two turns is none either', async () => {
  const at = repositoryAtWork();
  const [before, state] = [snapshot(at.root), await gitState(at)];
  await turn(at, COMMIT);
  await look(at);
  await turn(at, `echo more >> crlf.txt; ${COMMIT}`);
  const rewound = rewoundFrom(await at.run(['rewind', 't1', '--git', '--json']));
  expect(troubles(rewound)).toEqual([]);
  expect(differences(before, snapshot(at.root))).toEqual([]);
  expect(await gitState(at)).toEqual(state);
});

test('what the user stages after the turn is a conflict, and what it needs is kept', async () => {
  const at = repositoryAtWork();
  await turn(at, COMMIT);
  tree(at.root, { 'mine.txt': 'staged by the user\n' });
  await git(at, 'add', 'mine.txt');
  const index = snapshot(at.root)['.git/index'];
  const rewound = rewoundFrom(await at.run(['rewind', '--git', '--json']));
  expect(troubles(rewound)).toMatchObject([{ path: '.git/index', outcome: 'conflict' }]);
  expect(snapshot(at.root)['.git/index']).toBe(index);
  expect(await git(at, 'diff', '--cached', '--name-only')).toContain('mine.txt');
  expect(await git(at, 'fsck', '--no-dangling')).toBe('');
});

test('a commit of the user on top of the turn’s keeps all that it stands on', async () => {
  const at = repositoryAtWork();
  const state = await gitState(at);
  await turn(at, COMMIT);
  tree(at.root, { 'mine.txt': 'by the user\n' });
  await git(at, 'add', 'mine.txt');
  await git(at, 'commit', '--quiet', '-m', 'on top');
  const after = { snapshot: snapshot(at.root), state: await gitState(at) };
  const words = await at.run(['rewind', '--git', '--dry-run']);
  expect(words.stdout).toMatch(/^\.git: \d+ paths kept, for the repository was used since/m);
  const rewound = rewoundFrom(await at.run(['rewind', '--git', '--json']));
  expect(troubles(rewound).map(({ path: name }) => name)).toEqual([
    '.git/COMMIT_EDITMSG',
    '.git/index',
    '.git/logs/HEAD',
    '.git/logs/refs/heads/main',
    '.git/refs/heads/main',
  ]);
  expect(await git(at, 'log', '-2', '--format=%s')).toBe('on top\nturn\n');
  expect(await git(at, 'show', 'HEAD:mine.txt')).toBe('by the user\n');
  expect(await git(at, 'fsck', '--no-dangling')).toBe('');
  const forced = rewoundFrom(await at.run(['rewind', '--git', '--force', '--json']));
  expect(troubles(forced)).toEqual([]);
  const status = state.status?.replace('?? notes.md', '?? mine.txt\n?? notes.md');
  expect(await gitState(at)).toEqual({ ...state, status });
  expect((await at.run(['redo'])).code).toBe(0);
  expect(differences(after.snapshot, snapshot(at.root))).toEqual([]);
  expect(await gitState(at)).toEqual(after.state);
});

test('a branch that the user made between two turns keeps all that it stands on', async () => {
  const at = repositoryAtWork();
  await turn(at, COMMIT);
  await git(at, 'branch', 'mine');
  await turn(at, 'echo more >> crlf.txt');
  const rewound = rewoundFrom(await at.run(['rewind', 't1', '--git', '--json']));
  expect(troubles(rewound)).toEqual([]);
  expect(await git(at, 'log', '-1', '--format=%s', 'mine')).toBe('turn\n');
  expect(await git(at, 'log', '-1', '--format=%s')).toBe('first\n');
  expect(await git(at, 'fsck', '--no-dangling')).toBe('');
});

test('after a rewind and a commit of the user, redo breaks nothing of it', async () => {
  const at = repositoryAtWork();
  await turn(at, 'rm -rf .git');
  expect((await at.run(['rewind', '--git'])).code).toBe(0);
  await git(at, 'commit', '--quiet', '--all', '-m', 'mine');
  const run = rewoundFrom(await at.run(['redo', '--json']));
  expect(run.code).toBe(1);
  expect(run.outcomes).toContainEqual(USED);
  expect(await git(at, 'fsck', '--no-dangling')).toBe('');
  expect(await git(at, 'log', '-1', '--format=%s')).toBe('mine\n');
});

test('a repository that the turn made and the user committed to stays whole', async () => {
  const at = lab();
  await turn(at, 'git init -q -b main; echo 1 > a; git add a; git commit -qm turn');
  await git(at, 'commit', '--quiet', '--allow-empty', '-m', 'mine');
  const repository = snapshot(at.root, (name) => !name.startsWith('.git'));
  const rewound = rewoundFrom(await at.run(['rewind', '--git', '--json']));
  expect(rewound).toMatchObject({ code: 1, complete: false });
  expect(rewound.outcomes).toContainEqual(USED);
  expect(snapshot(at.root)).toEqual(repository);
  expect(await git(at, 'log', '--format=%s')).toBe('mine\nturn\n');
  // The user's own objects are in nobody's turn, so even then their directories stay.
  expect((await at.run(['rewind', '--git', '--force'])).code).toBe(1);
  expect((await at.run(['redo'])).code).toBe(0);
  expect(snapshot(at.root)).toEqual(repository);
  expect(await git(at, 'log', '--format=%s')).toBe('mine\nturn\n');
});

const USED = {
  path: '.git',
  outcome: 'conflict',
  reason: 'the repository was used since, so it stays whole',
};
