// @ts-check
import { tool } from './tool.mjs';

/**
 * Makes an empty repository for a tree and gives a way to run git in it. It lies beside the tree, so
 * that the bench edits no part of it; the work is the same as for a `.git` within.
 * @param {string} root
 * @param {string} repository
 * @param {string} home
 */
export function makeRepository(root, repository, home) {
  const env = {
    GIT_DIR: repository,
    GIT_WORK_TREE: root,
    // No hooks, no templates, no line ends, no ignored files of the user.
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_TEMPLATE_DIR: '',
    GIT_AUTHOR_NAME: 'bench',
    GIT_AUTHOR_EMAIL: 'bench@localhost',
    GIT_COMMITTER_NAME: 'bench',
    GIT_COMMITTER_EMAIL: 'bench@localhost',
  };
  const git = tool('git', { cwd: root, home, env });
  git('init', '-q');
  git('config', 'gc.auto', '0');
  return git;
}

/**
 * Makes a tree the tip of the branch, without looking at files.
 * @param {(...args: string[]) => string} git
 * @param {string} tree
 */
export function commit(git, tree) {
  git('update-ref', 'HEAD', git('commit-tree', '-m', 'bench', tree));
}
