// @ts-check
import fs from 'node:fs';
import { join } from 'node:path';
import { calm, timed } from './measure.mjs';
import { tool } from './peers/tool.mjs';

/** @typedef {{ tree: string, samples: import('./measure.mjs').Samples }} Into */

/**
 * What no way of doing it can be without: one look at the stamps of all files (`find -newer`, and what
 * git needs to see that nothing changed), and one reading of all bytes (`cat` to nowhere, from a warm
 * cache).
 * @param {import('./rounds.mjs').Seat} seat a peer that can look for changes
 * @param {Into} into
 */
export async function measureFloors({ peer, root, home }, { tree, samples }) {
  const { status } = peer;
  if (status === undefined) return;
  await peer.ready();
  /** @type {[string, () => unknown][]} */
  const floors = [['git status', status], ...plainFloors(root, home)];
  for (const [name, act] of floors) {
    calm(home);
    for (let i = 0; i < LOOKS; i++) {
      samples.add({ tree, peer: name, act: 'floor', changed: 0 }, await timed(act));
    }
  }
}

/**
 * The floors that need no repository.
 * @param {string} root
 * @param {string} home
 * @returns {[string, () => unknown][]}
 */
export function plainFloors(root, home) {
  const marker = join(home, 'marker');
  fs.writeFileSync(marker, '');
  const find = tool('find', { cwd: root, home });
  const shell = tool('sh', { cwd: root, home });
  return [
    ['find -newer', () => find('.', '-newer', marker)],
    ['cat', () => shell('-c', 'find . -type f -print0 | xargs -0 cat > /dev/null')],
  ];
}

/** Two looks make a turn. */
const LOOKS = 2;
