// @ts-check
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

/**
 * A whole copy before every turn by `cp -a`, copied back over the tree. What it takes does not depend
 * on how much changes, so it runs once a round.
 * @type {import('./peer.mjs').MakePeer}
 */
export function cp(root, home) {
  let copies = 0;
  const copyTo = () => join(home, `copy-${copies}`);
  const copy = () => {
    copies += 1;
    execFileSync('cp', ['-a', '--reflink=never', root, copyTo()]);
  };
  return {
    name: 'cp -a',
    only: ['all'],
    kept: undefined,
    first: copy,
    ready: () => {},
    before: copy,
    restore: () => execFileSync('cp', ['-a', '--reflink=never', `${copyTo()}/.`, root]),
  };
}
