import fs from 'node:fs';
import { errnoWords, isErrno } from '../core/problem.js';
import {
  type ByteString,
  isWithin,
  joinPath,
  nameOf,
  parentOf,
  type RelPath,
  ROOT,
} from '../core/relpath.js';
import { type NativePath, toNative } from './native-path.js';
import { lstat, type Stat } from './stat.js';

/** A directory below the root that was reached without following any link. */
type Directory = {
  readonly kind: 'directory';
  /** Gives a path at which one of its names can be reached. */
  readonly at: (name: ByteString) => NativePath;
  /** Gives a path at which the directory itself can be listed. */
  readonly self: NativePath;
};

/** What stands in the way of a directory. */
type NoDirectory =
  /** This directory is the topmost that is not there. */
  | { readonly kind: 'missing'; readonly first: RelPath }
  | { readonly kind: 'blocked'; readonly by: RelPath }
  /** It may be there: a directory above it lets nobody through. */
  | { readonly kind: 'unreachable'; readonly at: RelPath; readonly reason: string };

/**
 * Safe access to a tree: every parent is opened in turn as a directory and never through a link, and
 * the last name is reached through that open directory.
 *
 * With `/proc/self/fd` (Linux) a parent that is swapped for a link meanwhile cannot lead outside, and
 * paths may be of any length. Elsewhere all parents are looked at right before each access; the
 * window that is left is named at {@link CheckedTree}. A checked prefix is never remembered by its
 * string: what is kept are open directories.
 */
export interface Tree {
  readonly root: ByteString;
  /** Reaches a directory; only until the next call of this or another method. */
  directory(path: RelPath): Directory | NoDirectory;
  /** Forgets open directories: after some were deleted or made anew. */
  reset(): void;
  close(): void;
}

/** Opens a tree at its root's absolute path; a root that is gone is one that is missing. */
export function openTree(root: ByteString): Tree {
  return hasDescriptorPaths() ? new AnchoredTree(root) : new CheckedTree(root);
}

/** A path in a tree together with the directory that holds it. */
export type Spot =
  | { readonly kind: 'spot'; readonly path: NativePath; readonly directory: Directory }
  | NoDirectory;

/** Reaches the place of a path; the root itself is reached by its own path. */
export function spotOf(tree: Tree, path: RelPath): Spot {
  if (path === '') {
    const self = toNative(tree.root);
    return { kind: 'spot', path: self, directory: { kind: 'directory', at: () => self, self } };
  }
  const directory = tree.directory(parentOf(path));
  if (directory.kind !== 'directory') return directory;
  return { kind: 'spot', path: directory.at(nameOf(path)), directory };
}

const O_DIRECTORY = fs.constants.O_DIRECTORY ?? 0;
const O_NOFOLLOW = fs.constants.O_NOFOLLOW ?? 0;
// include/uapi/asm-generic/fcntl.h; Node does not export it. A path descriptor needs no right to
// read the directory, only to pass through it.
const O_PATH = 0o10000000;

let descriptorPaths: boolean | undefined;

function hasDescriptorPaths(): boolean {
  descriptorPaths ??=
    process.platform === 'linux' && fs.existsSync('/proc/self/fd') && O_DIRECTORY !== 0;
  return descriptorPaths;
}

/** So many directories are kept open: a tree may be deeper than a process may have descriptors. */
const MOST_OPEN = 256;

class AnchoredTree implements Tree {
  readonly root: ByteString;
  #rootFd: number | 'missing';
  /** Open directories from above down; where the tree is deeper than their number the first are left out. */
  #open: { readonly path: RelPath; readonly fd: number }[] = [];

  constructor(root: ByteString) {
    this.root = root;
    this.#rootFd = openRoot(root);
  }

  directory(path: RelPath): Directory | NoDirectory {
    if (this.#rootFd === 'missing') this.#rootFd = openRoot(this.root);
    if (this.#rootFd === 'missing') return { kind: 'missing', first: ROOT };
    const root = { path: ROOT, fd: this.#rootFd };
    while (!isWithin(path, this.#open.at(-1)?.path ?? ROOT)) this.#pop();
    for (;;) {
      const top = this.#open.at(-1) ?? root;
      if (top.path === path) return descriptorDirectory(top.fd);
      const next = stepTowards(top.path, path);
      const name = nameOf(next);
      let fd: number;
      try {
        fd = fs.openSync(descriptorDirectory(top.fd).at(name), O_PATH | O_DIRECTORY | O_NOFOLLOW);
      } catch (error) {
        if (isErrno(error, 'ENOENT')) return { kind: 'missing', first: next };
        if (isErrno(error, 'ENOTDIR', 'ELOOP')) return { kind: 'blocked', by: next };
        if (isErrno(error, 'EACCES', 'EPERM')) return closed(top.path, error);
        throw error;
      }
      this.#open.push({ path: next, fd });
      if (this.#open.length <= MOST_OPEN) continue;
      const [first] = this.#open.splice(0, 1);
      if (first !== undefined) fs.closeSync(first.fd);
    }
  }

  reset(): void {
    while (this.#open.length > 0) this.#pop();
  }

  close(): void {
    this.reset();
    if (this.#rootFd !== 'missing') fs.closeSync(this.#rootFd);
    this.#rootFd = 'missing';
  }

  #pop(): void {
    const top = this.#open.pop();
    if (top !== undefined) fs.closeSync(top.fd);
  }
}

/** The root's own path is the user's: links above it are followed. */
function openRoot(root: ByteString): number | 'missing' {
  try {
    return fs.openSync(toNative(root), O_PATH | O_DIRECTORY);
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ENOTDIR')) return 'missing';
    throw error;
  }
}

function descriptorDirectory(fd: number): Directory {
  const prefix = `/proc/self/fd/${fd}/`;
  return { kind: 'directory', at: (name) => toNative(prefix + name), self: prefix };
}

/**
 * The portable way.
 *
 * RACE: a parent may be swapped for a link between the look at it and the access; worst case one
 * operation lands outside the root. Where the system has descriptors by path this class is not used.
 */
class CheckedTree implements Tree {
  readonly root: ByteString;

  constructor(root: ByteString) {
    this.root = root;
  }

  directory(path: RelPath): Directory | NoDirectory {
    const obstacle = this.#obstacle(path);
    if (obstacle !== 'none') return obstacle;
    const own = path === '' ? this.root : `${this.root}/${path}`;
    return {
      kind: 'directory',
      at: (name) => {
        const now = this.#obstacle(path);
        if (now === 'none') return toNative(`${own}/${name}`);
        throw Object.assign(new Error('a directory above was replaced'), { code: 'ENOTDIR' });
      },
      self: toNative(own),
    };
  }

  reset(): void {}

  close(): void {}

  #obstacle(path: RelPath): NoDirectory | 'none' {
    const root = fs.statSync(toNative(this.root), { throwIfNoEntry: false });
    if (root === undefined) return { kind: 'missing', first: ROOT };
    if (!root.isDirectory()) return { kind: 'blocked', by: ROOT };
    let at = ROOT;
    while (at !== path) {
      at = stepTowards(at, path);
      let stat: Stat | 'absent';
      try {
        stat = lstat(toNative(`${this.root}/${at}`));
      } catch (error) {
        if (isErrno(error, 'EACCES', 'EPERM')) return closed(parentOf(at), error);
        throw error;
      }
      if (stat === 'absent') return { kind: 'missing', first: at };
      if (!stat.isDirectory()) return { kind: 'blocked', by: at };
    }
    return 'none';
  }
}

function closed(at: RelPath, error: unknown): NoDirectory {
  return { kind: 'unreachable', at, reason: `it cannot be reached: ${errnoWords(error)}` };
}

/** Gives the path one part longer than `from` on the way to `to`. */
function stepTowards(from: RelPath, to: RelPath): RelPath {
  const start = from === '' ? 0 : from.length + 1;
  const slash = to.indexOf('/', start);
  return joinPath(from, to.slice(start, slash < 0 ? undefined : slash));
}
