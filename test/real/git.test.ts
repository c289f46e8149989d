import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { snapshot } from '../support/tree.js';
import { git, gitState, repositoryOnce } from './repository.js';
import { calm, differences, rewoundFrom, thereAndBack } from './round.js';

const repositoryAtWork = repositoryOnce();

/** What agents do to a work tree, each as one turn. */
const TURNS = {
  'checkout of another branch, by force': 'git checkout --quiet --force other',
  stash: 'git stash push --quiet',
  'stash with untracked and ignored files': 'git stash push --quiet --all',
  'clean -fdx': 'git clean -fdxq',
  'reset --hard over staged and unstaged work': 'git reset --quiet --hard',
  'checkout -- .': 'git checkout --quiet -- .',
  'rm -rf . and then clean -fd': 'git rm -rfq .; git clean -fdq',
  'removal of .git': 'rm -rf .git src',
};

/** The same, and what is done to the repository above all. */
const TURNS_OF_GIT = {
  ...TURNS,
  'checkout after a commit of all': 'git add -A; git commit -qm all; git checkout -q other',
  'drop of the stash': 'git stash drop --quiet; echo more >> notes.md',
  'reset --hard to another branch': 'git reset --quiet --hard other',
  'branch moved and deleted': 'git branch -f other main; git branch -D other; rm notes.md',
  'repack of everything': 'git gc --quiet --prune=now; rm notes.md',
  'drop of the wrong stash': 'git stash push -q; git stash drop -q stash@{1}; git stash pop -q',
  'commit --amend': 'git commit -q --amend -a -m amended',
  'rebase that stopped half way':
    'git add -A; git commit -qm all; echo mine > README.md; git commit -qam mine; ' +
    'git rebase -q other || git status | grep -q rebas',
  'merge with conflicts':
    'git stash push -qu; echo mine > README.md; git commit -qam mine; ' +
    'git merge -q other || git status | grep -q Unmerged',
  'a new repository in the place of the old':
    'rm -rf .git; git init -q; git add .; git commit -qm 1',
  'a submodule and a linked work tree':
    'git init -q lib; cd lib; echo 1 > f; git add f; git commit -qm one; cd ..; ' +
    'git -c protocol.file.allow=always submodule --quiet add ./lib sub; git worktree add -q wt other',
};

const isGit = (name: string): boolean => name === '.git' || name.startsWith('.git/');
const inGit = (name: string): boolean => name !== '.git' && !name.startsWith('.git/');

describe('a rewind gives the work tree back and leaves .git as the turn left it, after', () => {
  test.each(Object.entries(TURNS))('%s', async (_, script) => {
    const at = repositoryAtWork();
    const env = calm(at);
    const before = snapshot(at.root, isGit);
    const watched = await at.run(['watch', '--', 'sh', '-ec', script], { env });
    expect(watched.code, watched.stderr).toBe(0);
    const repository = snapshot(at.root, inGit);
    const rewound = rewoundFrom(await at.run(['rewind', '--json'], { env }));
    expect(differences(before, snapshot(at.root, isGit))).toEqual([]);
    expect(differences(repository, snapshot(at.root, inGit))).toEqual([]);
    expect(rewound.outcomes.filter(({ path: name }) => isGit(name))).toEqual([]);
    expect(rewound).toMatchObject({ code: 0, complete: true });
  });
});

describe('with --git the repository is back as well: index, HEAD, branches, stashes, after', () => {
  test.each(Object.entries(TURNS_OF_GIT))('%s', async (_, script) => {
    const at = repositoryAtWork();
    const before = await gitState(at);
    const { left } = await thereAndBack(at, script, { rewind: ['--git'] });
    expect(await gitState(at)).toEqual(before);
    expect(rewoundFrom(await at.run(['redo', '--json']))).toMatchObject({ complete: true });
    expect(differences(left, snapshot(at.root))).toEqual([]);
  });
});

test('after git rm -rf . and git clean -fd the ignored files are back', async () => {
  const at = repositoryAtWork();
  const { left } = await thereAndBack(at, TURNS['rm -rf . and then clean -fd'], {
    skip: isGit,
  });
  const ignored = ['.env', 'debug.log', 'out/bundle.js'];
  expect(ignored.filter((name) => left[name] !== undefined)).toEqual([]);
  expect(readFileSync(path.join(at.root, '.env'), 'utf8')).toBe('SECRET=1\n');
});

test('preimage itself never writes into .git, nor stages anything', async () => {
  const at = repositoryAtWork();
  const before = snapshot(at.root, inGit);
  const state = await gitState(at);
  await thereAndBack(at, 'echo more >> src/app.js; rm .gitignore; rm -rf out');
  for (const args of [['status'], ['list'], ['show', 't1'], ['diff', 't1'], ['redo']]) {
    await at.run(args);
  }
  expect(differences(before, snapshot(at.root, inGit))).toEqual([]);
  await at.run(['rewind', '--git']);
  expect(differences(before, snapshot(at.root, inGit))).toEqual([]);
  expect(await gitState(at)).toEqual(state);
  expect(await git(at, 'diff', '--cached', '--name-only')).toBe('run.sh\nsrc/deep/er/util.js\n');
});
