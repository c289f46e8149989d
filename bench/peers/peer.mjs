// @ts-check
import fs from 'node:fs';

/**
 * One way to be able to undo what a turn does to a tree. Each method is an act that is timed, but for
 * `ready`, which brings the peer's caches up to date between turns.
 * @typedef {{
 *   name: string,
 *   only?: readonly (number | 'all')[],
 *   first?: () => unknown,
 *   ready: () => unknown,
 *   before: (paths: readonly string[]) => unknown,
 *   after?: () => unknown,
 *   restore: () => unknown,
 *   quarters?: () => { first: number, last: number },
 *   status?: () => unknown,
 *   kept: string | undefined,
 * }} Peer
 * `only` limits the numbers of changed files that are worth a run; what a peer need not do, it lacks;
 * `quarters` gives the mean time (ms) of the first and the last quarter of what `before` did path by
 * path; `status` looks at the whole tree for what changed, and is a floor for others; `kept` is where
 * copies are.
 */

/**
 * Makes a peer for one fresh tree; `home` is a directory of its own beside that tree.
 * @typedef {(root: string, home: string) => Peer} MakePeer
 */

/**
 * Bytes and files below a directory; what several names link to counts once.
 * @param {string} directory
 */
export function measureDirectory(directory) {
  /** @type {Set<number>} */
  const seen = new Set();
  let bytes = 0;
  for (const entry of fs.readdirSync(directory, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const { ino, size } = fs.lstatSync(`${entry.parentPath}/${entry.name}`);
    if (seen.has(ino)) continue;
    seen.add(ino);
    bytes += size;
  }
  return { bytes, files: seen.size };
}
