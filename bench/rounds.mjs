// @ts-check
import fs from 'node:fs';
import { join } from 'node:path';
import { changeFiles, chooseFiles, fingerprint } from './edits.mjs';
import { measureFloors } from './floors.mjs';
import { calm, timed } from './measure.mjs';
import { measureDirectory } from './peers/peer.mjs';
import { closeInQuarters } from './preimage.mjs';
import { listFiles } from './trees.mjs';

/**
 * @typedef {import('./peers/peer.mjs').Peer} Peer
 * @typedef {{
 *   tree: import('./trees.mjs').Tree,
 *   peers: readonly import('./peers/peer.mjs').MakePeer[],
 *   counts: readonly (number | 'all')[],
 *   samples: import('./measure.mjs').Samples,
 *   directory: string,
 *   number: number,
 * }} Round
 * `directory` is fresh and stays until the very end: creating files on ext4 after a large removal is
 * several times slower for minutes.
 *
 * @typedef {{ peer: Peer, root: string, home: string }} Seat a peer with a tree of its own
 */

/**
 * One round: every act of every peer in turn, each peer on its own copy of the same tree.
 * @param {Round} round
 * @returns {Promise<Seat[]>}
 */
export async function runRound(round) {
  const { tree, peers, counts, directory, number } = round;
  const seats = peers.map((make, i) => takeSeat(tree, make, join(directory, String(i))));
  calm(directory);
  for (const each of rotated(seats, number)) await first(round, each);
  for (const [i, changed] of counts.entries()) {
    for (const each of rotated(seats, number + i)) {
      if (each.peer.only?.includes(changed) !== false) await turn(round, each, changed);
    }
    if (changed === 0) await floors(round, seats);
  }
  for (const { peer } of seats) recordSize(round, peer, 'store, all turns');
  const ours = seats.find(({ peer }) => peer.name === 'preimage');
  if (ours !== undefined && tree.even) await quartersOfClose(round, ours);
  return seats;
}

/**
 * Makes a tree and a peer for it.
 * @param {import('./trees.mjs').Tree} tree
 * @param {import('./peers/peer.mjs').MakePeer} make
 * @param {string} directory
 * @returns {Seat}
 */
export function takeSeat(tree, make, directory) {
  const root = join(directory, 'tree');
  const home = join(directory, 'home');
  fs.mkdirSync(home, { recursive: true });
  tree.make(root);
  return { peer: make(root, home), root, home };
}

/** @param {Round} round @param {Seat} seat */
async function first(round, { peer, home }) {
  if (peer.first === undefined) return;
  calm(home);
  const ms = await timed(peer.first);
  record(round, peer, { act: 'first', changed: 0 }, ms);
  recordSize(round, peer, 'store, first');
}

/**
 * A turn: what the peer does before, edits that are not timed, what it does after, and its undoing,
 * which is checked.
 * @param {Round} round
 * @param {Seat} seat
 * @param {number | 'all'} changed
 */
async function turn(round, { peer, root, home }, changed) {
  const chosen = chooseFiles(listFiles(root), changed);
  const paths = chosen.map(({ path }) => path);
  const old = fingerprint(root, chosen);
  await peer.ready();
  calm(home);
  const before = await timed(() => peer.before(paths));
  changeFiles(root, chosen, `round ${round.number}, ${changed} changed`);
  calm(home);
  const after = peer.after === undefined ? 0 : await timed(peer.after);
  record(round, peer, { act: 'before', changed }, before);
  if (peer.after !== undefined) record(round, peer, { act: 'after', changed }, after);
  record(round, peer, { act: 'turn', changed }, before + after);
  const bytes = chosen.reduce((sum, { size }) => sum + size, 0);
  record(round, peer, { act: 'bytes', changed }, bytes);
  record(round, peer, { act: 'files', changed }, chosen.length);
  if (changed === 'all' && peer.quarters !== undefined) {
    const { first, last } = peer.quarters();
    record(round, peer, { act: 'first quarter', changed }, first);
    record(round, peer, { act: 'last quarter', changed }, last);
  }
  if (chosen.length === 0) return;
  calm(home);
  record(round, peer, { act: 'restore', changed }, await timed(() => peer.restore()));
  if (fingerprint(root, chosen) === old) return;
  throw new Error(`${peer.name} did not put ${chosen.length} changed files back.`);
}

/** @param {Round} round @param {readonly Seat[]} seats */
async function floors({ tree, samples }, seats) {
  const looking = seats.find(({ peer }) => peer.status !== undefined);
  if (looking !== undefined) await measureFloors(looking, { tree: tree.name, samples });
}

/** @param {Round} round @param {Seat} seat */
async function quartersOfClose(round, { peer, root, home }) {
  await peer.ready();
  const files = listFiles(root);
  const { first, last } = await closeInQuarters(root, home, () => {
    changeFiles(root, files, `round ${round.number}, in quarters`);
    calm(home);
  });
  record(round, peer, { act: 'first quarter', changed: 'all' }, first);
  record(round, peer, { act: 'last quarter', changed: 'all' }, last);
}

/** @param {Round} round @param {Peer} peer @param {string} act */
function recordSize(round, peer, act) {
  if (peer.kept === undefined) return;
  const { bytes, files } = measureDirectory(peer.kept);
  record(round, peer, { act: `${act}: bytes`, changed: 0 }, bytes);
  record(round, peer, { act: `${act}: files`, changed: 0 }, files);
}

/**
 * @param {Round} round
 * @param {Peer} peer
 * @param {{ act: string, changed: number | 'all' }} what
 * @param {number} value
 */
function record({ tree, samples }, peer, what, value) {
  samples.add({ tree: tree.name, peer: peer.name, ...what }, value);
}

/**
 * Another peer begins each time: what comes first warms the caches for what follows.
 * @template T
 * @param {readonly T[]} items
 * @param {number} by
 */
function rotated(items, by) {
  const at = by % items.length;
  return [...items.slice(at), ...items.slice(0, at)];
}
