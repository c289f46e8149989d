import type { Manifest } from '../core/manifest.js';
import { ENTRY, FLAG } from '../core/manifest-columns.js';
import { type ByteString, isRelPath, type RelPath } from '../core/relpath.js';
import { lstat, stampOf } from '../files/stat.js';
import { openTree, spotOf, type Tree } from '../files/tree.js';
import type { HostReader } from './host-client.js';

/** How often a close looks again at what still moves: a process that was left running never settles. */
const ROUNDS = 3;

/** What a close found, and whether it stood still. */
export type Settled<Scan> = {
  readonly scanned: Scan;
  /** The watcher told all that had happened before the last look. */
  readonly cookieSeen: boolean;
  /** Paths that somebody still wrote to when there was no more patience. */
  readonly unsettled: RelPath[];
};

/**
 * Scans until nothing moves: what the watcher has told of since the scan began, and what was written
 * right before it, must still have the stat key that the scan saw.
 */
export async function scanUntilSettled<Scan extends { readonly manifest: Manifest }>(
  root: ByteString,
  host: HostReader,
  scan: (previous: Scan | 'none') => Scan,
): Promise<Settled<Scan>> {
  host.update();
  let scanned: Scan | 'none' = 'none';
  for (let round = 1; ; round++) {
    const before = host.events.length;
    scanned = scan(scanned);
    // After the scan, so that whatever it may have missed is told before.
    const cookie = `${CLOSING}-${round}`;
    host.writeCookie(cookie);
    const cookieSeen = await host.cookie(cookie);
    const told = host.events.slice(before).map(({ path }) => path);
    const unsettled = findMoved(root, scanned.manifest, new Set([...told, ...hot(scanned)]));
    if (unsettled.length === 0 || round > ROUNDS) return { scanned, cookieSeen, unsettled };
  }
}

const CLOSING = 'closing';

/**
 * Names the files that were written so short before a scan that their stamps prove nothing: whoever is
 * still at work is at work there. Where no stamp proves anything, all files are; some of them will do.
 */
function hot({ manifest }: { readonly manifest: Manifest }): RelPath[] {
  const found: RelPath[] = [];
  for (let i = 0; i < manifest.count && found.length < MOST_HOT; i++) {
    if (manifest.type(i) === ENTRY.file && !manifest.has(i, FLAG.trusted)) {
      found.push(manifest.path(i));
    }
  }
  return found;
}

const MOST_HOT = 256;

function findMoved(root: ByteString, manifest: Manifest, paths: ReadonlySet<string>): RelPath[] {
  if (paths.size === 0) return [];
  const tree = openTree(root);
  try {
    const known = [...paths].filter((path): path is RelPath => path !== '' && isRelPath(path));
    return known.filter((path) => hasMoved(tree, manifest, path));
  } finally {
    tree.close();
  }
}

function hasMoved(tree: Tree, manifest: Manifest, path: RelPath): boolean {
  const spot = spotOf(tree, path);
  let stat: ReturnType<typeof lstat> = 'absent';
  try {
    if (spot.kind === 'spot') stat = lstat(spot.path);
  } catch {
    // What cannot be looked at is judged by the scan.
    return false;
  }
  const index = manifest.find(path);
  // In a directory that is left out nothing is looked at.
  if (index < 0) return stat !== 'absent' && manifest.imageAt(path).kind === 'absent';
  // A name that the store has made of a large file moves its ctime.
  if (manifest.has(index, FLAG.linkedInStore)) return false;
  return stat === 'absent' || manifest.stamp(index) !== stampOf(stat);
}
