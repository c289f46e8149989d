// @ts-check
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

/**
 * A whole copy before every turn by `cp -a`, copied back over the tree. What it takes does not depend
 * on how much changes, so it runs once a round.
 * @type {import('./peer.mjs').MakePeer}
 */
export function cp(root, home) {
  return copies('cp -a', '--reflink=never', { root, home });
}

/**
 * The same, cloned where the file system can (btrfs, xfs), else copied.
 * @type {import('./peer.mjs').MakePeer}
 */
export function cpReflink(root, home) {
  return copies('cp -a --reflink=auto', '--reflink=auto', { root, home });
}

/**
 * @param {string} name
 * @param {string} option
 * @param {{ root: string, home: string }} where
 * @returns {import('./peer.mjs').Peer}
 */
function copies(name, option, { root, home }) {
  let made = 0;
  const copyTo = () => join(home, `copy-${made}`);
  const copy = () => {
    made += 1;
    execFileSync('cp', ['-a', option, root, copyTo()]);
  };
  return {
    name,
    only: ['all'],
    kept: undefined,
    first: copy,
    ready: () => {},
    before: copy,
    restore: () => execFileSync('cp', ['-a', option, `${copyTo()}/.`, root]),
  };
}
