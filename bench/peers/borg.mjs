// @ts-check
import { join } from 'node:path';
import { tool } from './tool.mjs';

/**
 * A borg repository (lz4 as by default, no encryption): `create` of the tree, `extract` over it.
 * @type {import('./peer.mjs').MakePeer}
 */
export function borg(root, home) {
  const repository = join(home, 'borg');
  const env = {
    BORG_REPO: repository,
    BORG_BASE_DIR: join(home, 'borg-base'),
    BORG_UNKNOWN_UNENCRYPTED_REPO_ACCESS_IS_OK: 'yes',
  };
  const run = tool('borg', { cwd: root, home, env });
  run('init', '--encryption=none');
  let made = 0;
  const snapshot = () => {
    made += 1;
    run('create', '--compression=lz4', `::${made}`, '.');
    return `::${made}`;
  };
  let before = '';
  return {
    name: 'borg',
    kept: repository,
    first: snapshot,
    ready: snapshot,
    before: () => {
      before = snapshot();
    },
    after: snapshot,
    restore: () => run('extract', before),
  };
}
