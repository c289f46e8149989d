import fs from 'node:fs';
import type { Attributes } from '../core/attributes.js';
import { isErrno } from '../core/problem.js';
import { type ByteString, nameOf, parentOf, type RelPath } from '../core/relpath.js';
import { attributeSupport, readAttributes } from './attributes.js';
import type { Tree } from './tree.js';

/** So many directories are held open at once at the most. */
const MOST_HELD = 400;

/**
 * Paths for other programs: each leads through a directory that this process holds open and that was
 * reached without following any link, so a parent that is swapped for one cannot lead outside.
 * `unreachable` where there is no such directory. Only until the function returns.
 */
export function withHeldPaths<T>(
  tree: Tree,
  paths: readonly RelPath[],
  run: (held: readonly (ByteString | 'unreachable')[]) => T,
): T {
  const descriptors = new Map<RelPath, number | 'unreachable'>();
  try {
    const held = paths.map((path) => {
      const directory = parentOf(path);
      const fd = descriptors.get(directory) ?? hold(tree, directory);
      descriptors.set(directory, fd);
      // `/proc/self` is another one there.
      return fd === 'unreachable'
        ? fd
        : `/proc/${process.pid}/fd/${fd}/${path === '' ? '.' : nameOf(path)}`;
    });
    return run(held);
  } finally {
    for (const fd of descriptors.values()) if (fd !== 'unreachable') fs.closeSync(fd);
  }
}

/** Cuts a list of paths into lists that can be held at once. */
export function holdable<T extends { readonly path: RelPath }>(items: readonly T[]): T[][] {
  const lists: T[][] = [];
  let directories = new Set<RelPath>();
  for (const item of items) {
    directories.add(parentOf(item.path));
    if (lists.length === 0 || directories.size > MOST_HELD) {
      directories = new Set([parentOf(item.path)]);
      lists.push([]);
    }
    lists.at(-1)?.push(item);
  }
  return lists;
}

/** Reads the attributes of paths below a root without following any link; undefined where not known. */
export function attributesBelow(
  tree: Tree,
  paths: readonly RelPath[],
): Map<RelPath, Attributes | undefined> {
  const found = new Map<RelPath, Attributes | undefined>();
  if (attributeSupport().kind !== 'recorded') return found;
  for (const part of holdable(paths.map((path) => ({ path })))) {
    const list = part.map(({ path }) => path);
    withHeldPaths(tree, list, (held) => {
      const reached = held.filter((path) => path !== 'unreachable');
      const read = readAttributes(reached);
      let next = 0;
      list.forEach((path, i) => {
        found.set(path, held[i] === 'unreachable' ? undefined : read[next++]);
      });
    });
  }
  return found;
}

// See `files/tree.ts`.
const O_PATH = 0o10000000;

function hold(tree: Tree, directory: RelPath): number | 'unreachable' {
  const reached = tree.directory(directory);
  if (reached.kind !== 'directory') return 'unreachable';
  try {
    return fs.openSync(reached.at('.'), O_PATH | (fs.constants.O_DIRECTORY ?? 0));
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ENOTDIR', 'EACCES', 'EPERM')) return 'unreachable';
    throw error;
  }
}
