import fs from 'node:fs';
import type { DirectoryImage } from '../core/image.js';
import { isErrno } from '../core/problem.js';
import { comparePaths, parentOf, type RelPath } from '../core/relpath.js';
import { OWNER_ALL } from '../core/replay.js';
import { setMetadata } from '../files/place.js';
import { lstat, permissionsOf } from '../files/stat.js';
import { spotOf, type Tree } from '../files/tree.js';

/**
 * Finds a directory that we own and that nevertheless does not let us change what is in it, and says
 * what it is; `open` for one that needs nothing, or that is not ours to open.
 */
export function closedDirectory(tree: Tree, path: RelPath): DirectoryImage | 'open' {
  const spot = spotOf(tree, path);
  if (spot.kind !== 'spot') return 'open';
  const stat = lstat(spot.path);
  if (stat === 'absent' || !stat.isDirectory() || isAccessible(spot.path)) return 'open';
  if (process.geteuid === undefined || stat.uid !== BigInt(process.geteuid())) return 'open';
  const mode = permissionsOf(stat);
  if ((mode & OWNER_ALL) === OWNER_ALL) return 'open';
  return { kind: 'content', type: 'directory', mode, uid: Number(stat.uid), gid: Number(stat.gid) };
}

/** Lists the directories that an apply works in or through, from the root down. */
export function directoriesOf(changes: readonly { readonly path: RelPath }[]): RelPath[] {
  const found = new Set<RelPath>();
  for (const { path } of changes) {
    found.add(path);
    for (let at = path; at !== ''; ) {
      at = parentOf(at);
      if (found.has(at)) break;
      found.add(at);
    }
  }
  return [...found].sort(comparePaths);
}

/** Directories that were closed to their owner and are opened for a while: see `isLoan`. */
export class OpenedDirectories {
  readonly #tree: Tree;
  readonly #opened = new Map<RelPath, DirectoryImage>();

  constructor(tree: Tree) {
    this.#tree = tree;
  }

  /** Opens those that changes lie in or below. */
  open(changes: readonly { readonly path: RelPath }[]): void {
    for (const path of directoriesOf(changes)) {
      const image = closedDirectory(this.#tree, path);
      if (image === 'open') continue;
      unlock(this.#tree, path, image);
      this.#opened.set(path, image);
    }
  }

  /** Closes them again, but for those that have their own mode by now. */
  close(except: ReadonlySet<RelPath>): void {
    for (const [path, image] of [...this.#opened].reverse()) {
      if (!except.has(path)) lock(this.#tree, path, image);
    }
    this.#opened.clear();
  }
}

/** Opens a directory to its owner; its mode is put back by whoever has planned its mode. */
export function unlock(tree: Tree, path: RelPath, image: DirectoryImage): void {
  const spot = spotOf(tree, path);
  if (spot.kind === 'spot') setMetadata(spot.path, { ...image, mode: image.mode | OWNER_ALL });
}

/** Puts a directory's mode back, if it still stands. */
function lock(tree: Tree, path: RelPath, image: DirectoryImage): void {
  const spot = spotOf(tree, path);
  if (spot.kind === 'spot') setMetadata(spot.path, image);
}

function isAccessible(path: string | Buffer): boolean {
  try {
    fs.accessSync(path, fs.constants.R_OK | fs.constants.W_OK | fs.constants.X_OK);
    return true;
  } catch (error) {
    if (isErrno(error, 'EACCES')) return false;
    return true;
  }
}
