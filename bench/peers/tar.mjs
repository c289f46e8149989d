// @ts-check
import { join } from 'node:path';
import { tool } from './tool.mjs';

/**
 * One uncompressed archive of the whole tree before every turn, extracted over it. As with `cp`, what
 * it takes does not depend on how much changes.
 * @type {import('./peer.mjs').MakePeer}
 */
export function tar(root, home) {
  const run = tool('tar', { cwd: root, home });
  let made = 0;
  const archive = () => join(home, `archive-${made}.tar`);
  const pack = () => {
    made += 1;
    run('-cf', archive(), '.');
  };
  return {
    name: 'tar',
    only: ['all'],
    kept: undefined,
    first: pack,
    ready: () => {},
    before: pack,
    restore: () => run('-xpf', archive()),
  };
}
