import { execFileSync } from 'node:child_process';
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import { type Lab, lab, runProcess } from '../support/cli.js';
import { dir, exec, file, symlink, tree } from '../support/tree.js';
import { calm } from './round.js';

/** Where git runs, and with which environment. */
type Place = Pick<Lab, 'root' | 'env'>;

/** A git command of a test, run by the machine's own git and no settings of the user. */
export async function git(at: Place, ...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await runProcess('git', args, { cwd: at.root, env: calm(at) });
  expect(code, `git ${args.join(' ')}: ${stderr}`).toBe(0);
  return stdout;
}

/** What git itself says of a repository: work tree against index, HEAD, refs, stashes. */
export async function gitState(at: Place): Promise<Record<string, string>> {
  return {
    status: await git(at, 'status', '--porcelain', '--ignored', '--branch'),
    head: await git(at, 'rev-parse', 'HEAD'),
    on: await git(at, 'symbolic-ref', 'HEAD'),
    refs: await git(at, 'for-each-ref'),
    stashes: await git(at, 'stash', 'list'),
    staged: await git(at, 'diff', '--cached'),
    fsck: await git(at, 'fsck', '--no-dangling'),
  };
}

/**
 * Makes, once for a test file, a repository in the middle of somebody's work; gives a function that
 * puts a copy of it into a workspace.
 */
export function repositoryOnce(): () => Lab {
  let root = '';
  beforeAll(async () => {
    root = realpathSync(mkdtempSync(path.join(os.tmpdir(), 'preimage-git-')));
    await makeRepository({ root, env: process.env });
  });
  afterAll(() => {
    rmSync(root, { recursive: true, force: true, maxRetries: 5 });
  });
  return () => {
    const at = lab();
    execFileSync('cp', ['-a', `${root}/.`, at.root]);
    return at;
  };
}

/** Two branches, a stash, staged, unstaged and untracked changes, and files that are ignored. */
async function makeRepository(at: Place): Promise<void> {
  tree(at.root, {
    '.gitignore': '.env\n*.log\nout/\n',
    'README.md': '# one\n',
    'src/app.js': 'export const a = 1;\n',
    'src/deep/er/util.js': 'export const u = 1;\n',
    'src/gone-later.js': 'on main only\n',
    'run.sh': exec('#!/bin/sh\necho run\n'),
    'link.js': symlink('src/app.js'),
    'crlf.txt': 'one\r\ntwo\r\n',
  });
  await git(at, 'init', '--quiet', '--initial-branch', 'main');
  await git(at, 'config', 'gc.auto', '0');
  await commit(at, 'first');
  await git(at, 'checkout', '--quiet', '-b', 'other');
  await git(at, 'rm', '--quiet', 'src/gone-later.js');
  tree(at.root, {
    'src/deep': { 'only-there.js': 'x\n' },
    'README.md': '# two\n',
    'file-or-dir': { inner: 'directory here\n' },
  });
  await commit(at, 'second');
  await git(at, 'checkout', '--quiet', 'main');
  writeFileSync(path.join(at.root, 'src/app.js'), 'export const a = "stashed";\n');
  await git(at, 'stash', 'push', '--quiet', '-m', 'older work');
  tree(at.root, {
    '.env': file('SECRET=1\n', 0o600),
    'debug.log': 'a log\n',
    'out/bundle.js': 'built\n',
    'notes.md': 'untracked\n',
    'scratch/idea.txt': 'untracked, in a directory of its own\n',
    empty: dir(0o750),
    'src/deep/er/util.js': 'export const u = "staged";\n',
    'run.sh': '#!/bin/sh\necho staged\n',
  });
  await git(at, 'add', 'src/deep/er/util.js', 'run.sh');
  tree(at.root, {
    'src/deep/er/util.js': 'export const u = "staged and changed again";\n',
    'crlf.txt': 'one\r\nunstaged\r\n',
  });
}

async function commit(at: Place, message: string): Promise<void> {
  await git(at, 'add', '--all');
  await git(at, 'commit', '--quiet', '-m', message);
}
