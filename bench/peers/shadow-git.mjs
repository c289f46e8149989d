// @ts-check
import { join } from 'node:path';
import { commit, makeRepository } from './git.mjs';
import { waitForNextSecond } from './tool.mjs';

/**
 * A repository beside the tree, as agents keep it: `add -A` and `write-tree` make a snapshot,
 * `read-tree` and `checkout-index -a -f` put it back.
 * @type {import('./peer.mjs').MakePeer}
 */
export function shadowGit(root, home) {
  const repository = join(home, 'git');
  const git = makeRepository(root, repository, home);
  const snapshot = () => {
    git('add', '-A');
    return git('write-tree');
  };
  let tree = '';
  return {
    name: 'shadow git',
    kept: repository,
    first: snapshot,
    ready: () => {
      waitForNextSecond();
      // For `status`, which would name every file in a repository without a commit.
      commit(git, snapshot());
    },
    before: () => {
      tree = snapshot();
    },
    after: snapshot,
    restore: () => {
      git('read-tree', tree);
      git('checkout-index', '-a', '-f');
    },
    status: () => git('status', '--porcelain'),
  };
}
