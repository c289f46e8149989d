// @ts-check
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

/**
 * A repository beside the tree, as agents keep it: `add -A` and `write-tree` make a snapshot,
 * `read-tree` and `checkout-index -a -f` put it back.
 * @type {import('./peer.mjs').MakePeer}
 */
export function shadowGit(root, home) {
  const repository = join(home, 'git');
  /** @param {string[]} args */
  const git = (...args) =>
    execFileSync('git', args, {
      cwd: root,
      encoding: 'utf8',
      env: { ...cleanEnvironment(), GIT_DIR: repository, GIT_WORK_TREE: root },
      stdio: ['ignore', 'pipe', 'inherit'],
    }).trim();
  const snapshot = () => {
    git('add', '-A');
    return git('write-tree');
  };
  git('init', '-q');
  git('config', 'gc.auto', '0');
  let tree = '';
  return {
    name: 'shadow git',
    kept: repository,
    first: snapshot,
    ready: () => {
      waitForNextSecond();
      snapshot();
    },
    before: () => {
      tree = snapshot();
    },
    after: snapshot,
    restore: () => {
      git('read-tree', tree);
      git('checkout-index', '-a', '-f');
    },
  };
}

/** No settings of the user: no hooks, no templates, no line ends, no ignored files. */
function cleanEnvironment() {
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith('GIT_'));
  return {
    ...Object.fromEntries(kept),
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_TEMPLATE_DIR: '',
    LC_ALL: 'C',
  };
}

/**
 * Git without nanoseconds reads every file again whose stamp is in the second of its index: wait, so
 * that it need not.
 */
function waitForNextSecond() {
  const rest = 1_000 - (Date.now() % 1_000) + 20;
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, rest);
}
