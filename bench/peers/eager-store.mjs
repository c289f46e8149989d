// @ts-check
import crypto from 'node:crypto';
import fs from 'node:fs';
import { join } from 'node:path';
import { quarters } from '../measure.mjs';

/**
 * The article's store: before a tool writes a file, its old bytes go to `blobs/<sha256>` and its state
 * (absent or content) into an index. It knows only the paths that it is told.
 * @typedef {{ state: 'absent' } | { state: 'content', sha256: string, mode: number }} Entry
 */

/**
 * Writes the whole index, a JSON object, at every capture.
 * @type {import('./peer.mjs').MakePeer}
 */
export function eagerRewriting(root, home) {
  return eagerStore('eager, index rewritten', root, home, (file, index) => {
    fs.writeFileSync(file, JSON.stringify(Object.fromEntries(index)));
  });
}

/**
 * Appends one line to the index at every capture.
 * @type {import('./peer.mjs').MakePeer}
 */
export function eagerAppending(root, home) {
  return eagerStore('eager, index appended', root, home, (file, _index, path, entry) => {
    fs.appendFileSync(file, `${JSON.stringify({ path, ...entry })}\n`);
  });
}

/**
 * @param {string} name
 * @param {string} root
 * @param {string} home
 * @param {(file: string, index: Map<string, Entry>, path: string, entry: Entry) => void} keep
 * @returns {import('./peer.mjs').Peer}
 */
function eagerStore(name, root, home, keep) {
  const blobs = join(home, 'store', 'blobs');
  fs.mkdirSync(blobs, { recursive: true });
  /** @type {Map<string, Entry>} */
  let index = new Map();
  /** @type {number[]} */
  let times = [];
  let turns = 0;

  /** @param {string} path */
  const capture = (path) => {
    if (index.has(path)) return;
    const entry = keepBytes(join(root, path), blobs);
    index.set(path, entry);
    keep(join(home, 'store', `turn-${turns}.json`), index, path, entry);
  };
  return {
    name,
    only: [4, 50, 500, 'all'],
    kept: join(home, 'store'),
    ready: () => {},
    before: (paths) => {
      index = new Map();
      times = [];
      turns += 1;
      for (const path of paths) {
        const start = performance.now();
        capture(path);
        times.push(performance.now() - start);
      }
    },
    restore: () => {
      for (const [path, entry] of index) putBack(join(root, path), entry, blobs);
    },
    quarters: () => quarters(times),
  };
}

/** @param {string} path @param {string} blobs @returns {Entry} */
function keepBytes(path, blobs) {
  let bytes;
  try {
    bytes = fs.readFileSync(path);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') {
      return { state: 'absent' };
    }
    throw error;
  }
  const sha256 = crypto.createHash('sha256').update(bytes).digest('hex');
  const blob = join(blobs, sha256);
  if (!fs.existsSync(blob)) fs.writeFileSync(blob, bytes);
  return { state: 'content', sha256, mode: fs.statSync(path).mode & 0o7777 };
}

/** @param {string} path @param {Entry} entry @param {string} blobs */
function putBack(path, entry, blobs) {
  switch (entry.state) {
    case 'absent':
      fs.rmSync(path, { force: true });
      return;
    case 'content':
      fs.writeFileSync(path, fs.readFileSync(join(blobs, entry.sha256)));
      fs.chmodSync(path, entry.mode);
      return;
  }
}
