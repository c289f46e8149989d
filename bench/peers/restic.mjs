// @ts-check
import { join } from 'node:path';
import { tool } from './tool.mjs';

/**
 * A restic repository (format 2, its own default compression, encrypted as it always is): `backup` of
 * the tree, `restore` over it. Each of its commands first derives the key from the password.
 * @type {import('./peer.mjs').MakePeer}
 */
export function restic(root, home) {
  const repository = join(home, 'restic');
  const env = {
    RESTIC_REPOSITORY: repository,
    RESTIC_PASSWORD: 'bench',
    RESTIC_CACHE_DIR: join(home, 'restic-cache'),
  };
  const run = tool('restic', { cwd: root, home, env });
  run('init', '--quiet');
  const snapshot = () => {
    const told = run('backup', '--quiet', '--json', '.').split('\n').at(-1) ?? '';
    return String(JSON.parse(told).snapshot_id);
  };
  let before = '';
  return {
    name: 'restic',
    kept: repository,
    first: snapshot,
    ready: snapshot,
    before: () => {
      before = snapshot();
    },
    after: snapshot,
    restore: () => run('restore', '--quiet', before, '--target', root),
  };
}
