// @ts-check
import { join } from 'node:path';
import { commit, makeRepository } from './git.mjs';
import { waitForNextSecond } from './tool.mjs';

/**
 * Git in the worktree: `stash create` makes a commit of all tracked files that differ from the tip,
 * and leaves index and files alone. The tree is committed before anything is timed, as a user's is;
 * what is untracked or ignored is not kept by it.
 * @type {import('./peer.mjs').MakePeer}
 */
export function gitStash(root, home) {
  const repository = join(home, 'git');
  const git = makeRepository(root, repository, home);
  git('add', '-A');
  commit(git, git('write-tree'));
  const snapshot = () => git('stash', 'create') || 'HEAD';
  let before = '';
  return {
    name: 'git stash create',
    kept: repository,
    ready: () => {
      waitForNextSecond();
      git('update-index', '-q', '--refresh');
    },
    before: () => {
      before = snapshot();
    },
    after: snapshot,
    restore: () => git('restore', `--source=${before}`, '--staged', '--worktree', '--', '.'),
  };
}
