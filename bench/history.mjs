// @ts-check
import { join } from 'node:path';
import { changeFiles } from './edits.mjs';
import { quarters, timed } from './measure.mjs';
import { takeSeat } from './rounds.mjs';
import { generatedTree, listFiles } from './trees.mjs';

/** Few files: what is left to grow is what a turn costs for those before it. */
const TREE = generatedTree({ files: 10, bytes: 100_000 });
const CHANGED = 4;

/**
 * Many turns after each other, some files changed in each: what a turn costs (before and after, not
 * the edits) in the first and in the last quarter of them.
 * @param {import('./peers/peer.mjs').MakePeer} make
 * @param {string} directory fresh
 * @param {number} turns
 * @returns {Promise<{ name: string, first: number, last: number }>} milliseconds per turn
 */
export async function runHistory(make, directory, turns) {
  const { peer, root } = takeSeat(TREE, make, join(directory, 'history'));
  const files = listFiles(root).slice(0, CHANGED);
  const paths = files.map(({ path }) => path);
  const times = [];
  await peer.first?.();
  await peer.ready();
  for (let i = 0; i < turns; i++) {
    const before = await timed(() => peer.before(paths));
    changeFiles(root, files, `turn ${i} of many`);
    times.push(before + (peer.after === undefined ? 0 : await timed(peer.after)));
  }
  return { name: peer.name, ...quarters(times) };
}
