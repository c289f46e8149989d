import fs from 'node:fs';
import { PERMISSIONS } from '../core/image.js';
import { ENTRY } from '../core/manifest-columns.js';
import { isErrno } from '../core/problem.js';
import type { NativePath } from './native-path.js';

/** What `lstat` says, with 64-bit fields. */
export type Stat = fs.BigIntStats;

/** Looks at a path without following a link; `absent` where nothing stands. Throws other errors. */
export function lstat(path: NativePath): Stat | 'absent' {
  try {
    return fs.lstatSync(path, BIGINT) ?? 'absent';
  } catch (error) {
    // `throwIfNoEntry` covers ENOENT and ENOTDIR on most systems, not on all.
    if (isErrno(error, 'ENOENT', 'ENOTDIR')) return 'absent';
    throw error;
  }
}

/** Gives the manifest's type of what was looked at. */
export function entryType(stat: Stat): number {
  if (stat.isFile()) return ENTRY.file;
  if (stat.isDirectory()) return ENTRY.directory;
  if (stat.isSymbolicLink()) return ENTRY.symlink;
  return stat.isFIFO() ? ENTRY.fifo : ENTRY.other;
}

/** Reports whether two looks saw the same thing untouched: all eight fields of the stat key. */
export function sameStat(a: Stat, b: Stat): boolean {
  return (
    a.ino === b.ino &&
    a.ctimeNs === b.ctimeNs &&
    a.mtimeNs === b.mtimeNs &&
    a.size === b.size &&
    a.dev === b.dev &&
    a.mode === b.mode &&
    a.uid === b.uid &&
    a.gid === b.gid
  );
}

/** Writes the stat key as text, as `Manifest.stamp` does. */
export function stampOf(stat: Stat): string {
  return [
    stat.dev,
    stat.ino,
    stat.mode,
    stat.uid,
    stat.gid,
    stat.size,
    stat.mtimeNs,
    stat.ctimeNs,
  ].join(':');
}

/** Gives the twelve permission bits. */
export function permissionsOf(stat: Stat): number {
  return Number(stat.mode) & PERMISSIONS;
}

/** Tells a file's inode where it has several names, `''` where it has one: see `FileImage.link`. */
export function linkOf(stat: Stat): string {
  return stat.nlink > 1n ? `${stat.dev}:${stat.ino}` : '';
}

/** Reports whether a file has holes: fewer blocks of 512 bytes (stat(2)) than its size needs. */
export function isSparse(stat: Stat): boolean {
  return stat.size >= SMALLEST_HOLE && stat.blocks * 512n < stat.size;
}

/** Names what a special file is, for a person. */
export function specialName(stat: Stat): string {
  if (stat.isSocket()) return 'a socket';
  if (stat.isBlockDevice() || stat.isCharacterDevice()) return 'a device';
  return 'a special file';
}

/** No common file system makes smaller holes. */
const SMALLEST_HOLE = 4096n;

const BIGINT = { bigint: true, throwIfNoEntry: false } as const;
