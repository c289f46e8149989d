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
  const git = tool('git', { cwd: root, home, env: environment(root, repository) });
  git('init', '-q');
  git('config', 'gc.auto', '0');
  return git;
}

/**
 * Makes a repository that knows a tree as its tip, but holds none of its bytes: for a `git status` of
 * so many files that storing them would take longer than all the rest.
 * @param {string} root
 * @param {string} repository
 * @param {string} home
 */
export function makeHollowRepository(root, repository, home) {
  const git = makeRepository(root, repository, home);
  const shell = tool('sh', { cwd: root, home, env: environment(root, repository) });
  shell('-c', 'git ls-files -o -z | git update-index --add --info-only -z --stdin');
  commit(git, git('write-tree', '--missing-ok'));
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

/** @param {string} root @param {string} repository @returns {Record<string, string>} */
function environment(root, repository) {
  return {
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
}
