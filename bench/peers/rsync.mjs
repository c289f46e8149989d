// @ts-check
import fs from 'node:fs';
import { join } from 'node:path';
import { tool, waitForNextSecond } from './tool.mjs';

/**
 * A directory a snapshot: `rsync -a --link-dest` copies what differs from the last one by size or by
 * second, and hard-links the rest; back by `rsync -a --delete`.
 * @type {import('./peer.mjs').MakePeer}
 */
export function rsync(root, home) {
  const run = tool('rsync', { cwd: root, home });
  const kept = join(home, 'snapshots');
  fs.mkdirSync(kept);
  let made = 0;
  const snapshot = () => {
    const last = join(kept, String(made));
    made += 1;
    const next = join(kept, String(made));
    const link = made === 1 ? [] : [`--link-dest=${last}`];
    run('-a', ...link, `${root}/`, next);
    return next;
  };
  let before = '';
  return {
    name: 'rsync --link-dest',
    kept,
    first: snapshot,
    ready: () => {
      waitForNextSecond();
      snapshot();
    },
    before: () => {
      before = snapshot();
    },
    after: snapshot,
    restore: () => run('-a', '--delete', `${before}/`, `${root}/`),
  };
}
