import type { Manifest } from '../core/manifest.js';
import { ENTRY, FLAG, KEY } from '../core/manifest-columns.js';
import { type ByteString, isRelPath, parentOf, type RelPath } from '../core/relpath.js';
import { toNative } from '../files/native-path.js';
import { lstat, type Stat } from '../files/stat.js';
import type { AnyListing } from './known-names.js';
import type { ScanRequest, ToldChanges } from './request.js';

const LOOK = 0;
const STANDING_FILE = 1;
const STANDING_DIRECTORY = 2;

/**
 * The files of a baseline that need not be looked at because whoever watched did not name them.
 *
 * Only files: every directory is looked at all the same, a twentieth of the work, and where one has
 * moved so is all in it. So what came, went, was renamed or replaced or mounted is seen without anybody
 * telling, and only a write or chmod in place depends on his word. He cannot see a write through another
 * name of the file, so files that have several, or have them by now, are looked at as well.
 */
export class Told {
  /** An entry that has changed and was not named; `''` where there is none: then he is not to be believed. */
  untold: RelPath | '' = '';
  readonly #standing: Uint8Array;

  private constructor(standing: Uint8Array) {
    this.#standing = standing;
  }

  static by({ root, baseline, told }: ScanRequest): Told {
    if (baseline === 'none' || told === 'none') return new Told(new Uint8Array(0));
    const standing = standingIn(baseline, told.blind);
    const several = new Set<bigint>();
    for (const name of told.names) {
      if (!isRelPath(name)) continue;
      lookAt(baseline, standing, name);
      const inode = inodeOfSeveral(`${root}/${name}`);
      if (inode !== 'none') several.add(inode);
    }
    if (several.size > 0) {
      for (let i = 0; i < baseline.count; i++) {
        if (several.has(baseline.key(i, KEY.ino))) standing[i] = LOOK;
      }
    }
    return new Told(standing);
  }

  /** Reports whether a file of the baseline is said to stand, in a directory that has not moved. */
  stands(index: number, { kind }: AnyListing): boolean {
    return kind === 'known' && this.#standing[index] === STANDING_FILE;
  }

  /** Notes an entry that was looked at all the same and whose stat key has moved. */
  moved(index: number, path: () => RelPath): void {
    if (this.untold === '' && (this.#standing[index] ?? LOOK) !== LOOK) this.untold = path();
  }
}

/**
 * Gives the clock for a scan's manifest. One that was taken before an earlier scan is right as well: by
 * it only more is named than need be.
 */
export function clockOf({ clock, baseline }: ScanRequest): string {
  return clock !== '' || baseline === 'none' ? clock : baseline.meta.clock;
}

function standingIn(baseline: Manifest, { names, paths }: ToldChanges['blind']): Uint8Array {
  const { count } = baseline;
  const standing = new Uint8Array(count);
  const { parents } = baseline.columns;
  const blind = new Uint8Array(count);
  // A directory stands before its entries.
  for (let i = 1; i < count; i++) {
    const isDirectory = baseline.type(i) === ENTRY.directory;
    const isBlind =
      blind[parents[i] ?? 0] === 1 ||
      (isDirectory && (names.has(baseline.name(i)) || paths.has(baseline.path(i))));
    if (isBlind) blind[i] = 1;
    else if (isDirectory) standing[i] = STANDING_DIRECTORY;
    // What was skipped may be captured by now: its time was up, or it has shrunk.
    else if (baseline.type(i) === ENTRY.file && !baseline.has(i, FLAG.linked | FLAG.skipped)) {
      standing[i] = STANDING_FILE;
    }
  }
  return standing;
}

/** Has a named entry looked at, the directory that it is in, and where it is one all in it. */
function lookAt(baseline: Manifest, standing: Uint8Array, name: RelPath): void {
  let at = name;
  let index = baseline.find(at);
  if (index >= 0) lookInto(baseline, standing, index);
  // What is new is found by the nearest directory that is not.
  do {
    at = parentOf(at);
    index = baseline.find(at);
  } while (index < 0);
  standing[index] = LOOK;
}

function lookInto(baseline: Manifest, standing: Uint8Array, index: number): void {
  standing[index] = LOOK;
  if (baseline.type(index) !== ENTRY.directory) return;
  const { start, end } = baseline.children(index);
  standing.fill(LOOK, start, end);
}

/** Gives a file's inode where it has several names. */
function inodeOfSeveral(path: ByteString): bigint | 'none' {
  let stat: Stat | 'absent';
  try {
    stat = lstat(toNative(path));
  } catch {
    // Whatever hinders it is met again on the walk.
    return 'none';
  }
  return stat !== 'absent' && stat.isFile() && stat.nlink > 1n ? stat.ino : 'none';
}
