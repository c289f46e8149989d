import fs from 'node:fs';
import type { Content, FifoImage, FileImage } from '../core/image.js';
import { errnoOf, errnoWords, isErrno } from '../core/problem.js';
import { writeAll } from './durable.js';
import { type NativePath, toNative } from './native-path.js';
import { childProcess } from './on-demand.js';
import { lstat, type Stat, stampOf } from './stat.js';

/** What one write to the workspace came to; `note` is what could not be restored beside the bytes. */
export type Placed =
  | { readonly kind: 'done'; readonly note: string }
  | { readonly kind: 'conflict'; readonly reason: string }
  | { readonly kind: 'failed'; readonly reason: string };

/** Done, and nothing to say. */
export const DONE: Placed = { kind: 'done', note: '' };

const O_NOFOLLOW = fs.constants.O_NOFOLLOW ?? 0;
const CREATE_NEW = fs.constants.O_WRONLY | fs.constants.O_CREAT | fs.constants.O_EXCL | O_NOFOLLOW;
// See `files/tree.ts`.
const O_PATH = 0o10000000;
/** Directories are made so that only we can reach into them until all is in place. */
const STAGING_MODE = 0o700;

/** What must stand at a place right before it is written. */
export type Expected =
  | { readonly kind: 'nothing' }
  /** `anyCtime`: another name of the same inode was replaced by us, which moves this one's ctime. */
  | { readonly kind: 'stamp'; readonly stamp: string; readonly anyCtime: boolean };

/** Which modification time a file gets: that of the writing, or the one that was recorded. */
export type Times = 'now' | 'recorded';

/** Hands a content on piece by piece. */
export type Fill = (write: (piece: Uint8Array) => void) => void;

/**
 * Writes a file beside its place: made new, never through a link, readable by nobody else until it is
 * whole; then owner and permission bits, in this order, for a change of owner clears set-id bits.
 */
export function stageFile(
  path: NativePath,
  content: FileImage,
  options: { readonly fill: Fill; readonly sync: boolean; readonly times: Times },
): Placed {
  const fd = fs.openSync(path, CREATE_NEW, 0o600);
  try {
    return writeContent(fd, content, options);
  } finally {
    fs.closeSync(fd);
  }
}

/** Writes content, owner and permission bits, in this order, into an open file. */
export function writeContent(
  fd: number,
  content: FileImage,
  options: { readonly fill: Fill; readonly sync: boolean; readonly times: Times },
): Placed {
  let position = 0;
  options.fill((piece) => {
    if (content.sparse) writeAroundHoles(fd, piece, position);
    else writeAll(fd, piece, position);
    position += piece.length;
  });
  // Makes holes at the end, or cuts off what an older content had more.
  if (content.sparse || fs.fstatSync(fd).size > content.bytes) {
    fs.ftruncateSync(fd, content.bytes);
  }
  const note = own(fs.fstatSync(fd, { bigint: true }), content, (uid, gid) => {
    fs.fchownSync(fd, uid, gid);
  });
  fs.fchmodSync(fd, content.mode);
  if (options.times === 'recorded') fs.futimesSync(fd, new Date(), secondsOf(content.mtimeNs));
  if (options.sync) fs.fsyncSync(fd);
  return { kind: 'done', note };
}

/**
 * Node takes times as doubles of seconds and cuts them off at the microsecond: half of one more makes
 * sure that it is the right one.
 */
function secondsOf(ns: bigint): number {
  return (Number(ns / 1000n) + 0.5) / 1e6;
}

/** Blocks of zeros this long are left as holes where the file had holes. */
const HOLE_BYTES = 4096;
const ZEROS = Buffer.alloc(HOLE_BYTES);

function writeAroundHoles(fd: number, piece: Uint8Array, position: number): void {
  for (let at = 0; at < piece.length; at += HOLE_BYTES) {
    const block = piece.subarray(at, at + HOLE_BYTES);
    if (!ZEROS.subarray(0, block.length).equals(block)) writeAll(fd, block, position + at);
  }
}

/** Makes a named pipe beside its place; Node has no call for it, so the system's `mkfifo` does it. */
export function stageFifo(path: NativePath, content: FifoImage): Placed {
  // Our own descriptors are not the child's: reach the directory through our process.
  const reached = path.toString().replace('/proc/self/', `/proc/${process.pid}/`);
  const { status, error } = childProcess().spawnSync('mkfifo', ['-m', '600', reached], {
    stdio: 'ignore',
  });
  if (error !== undefined && !isErrno(error, 'ENOENT')) throw error;
  if (status !== 0) {
    return { kind: 'failed', reason: 'a named pipe cannot be made here: no mkfifo' };
  }
  return setMetadata(path, content);
}

/** Makes another name of a file beside its place. */
export function stageHardLink(file: NativePath, path: NativePath): Placed {
  fs.linkSync(file, path);
  return DONE;
}

/** Makes a symbolic link beside its place. */
export function stageLink(
  path: NativePath,
  content: Extract<Content, { type: 'symlink' }>,
): Placed {
  fs.symlinkSync(toNative(content.target), path);
  const stat = lstat(path);
  if (stat === 'absent') return DONE;
  const note = own(stat, content, (uid, gid) => {
    fs.lchownSync(path, uid, gid);
  });
  return { kind: 'done', note };
}

/**
 * Moves what was staged into its place, if what is expected stands there.
 *
 * RACE: something replaced between the look and the rename is lost; the window is two system calls.
 * Where nothing is expected there is no window: a hard link fails if something came.
 */
export function moveIntoPlace(staged: NativePath, place: NativePath, expected: Expected): Placed {
  if (expected.kind === 'stamp') {
    const now = lstat(place);
    if (now === 'absent' || !isExpected(now, expected)) return CHANGED;
    fs.renameSync(staged, place);
    return DONE;
  }
  try {
    fs.linkSync(staged, place);
    fs.unlinkSync(staged);
  } catch (error) {
    if (isErrno(error, 'EEXIST')) return CHANGED;
    // No hard links on this file system (or none of links): look, then rename.
    if (!isErrno(error, 'EPERM', 'ENOTSUP', 'ENOSYS', 'EMLINK')) throw error;
    if (lstat(place) !== 'absent') return CHANGED;
    fs.renameSync(staged, place);
  }
  return DONE;
}

/** Removes a file, link or empty directory, if it is what is expected; never recursively. */
export function removeExpected(path: NativePath, expected: Expected): Placed {
  const now = lstat(path);
  if (now === 'absent') return CHANGED;
  if (now.isDirectory()) {
    try {
      fs.rmdirSync(path);
      return DONE;
    } catch (error) {
      if (!isErrno(error, 'ENOTEMPTY', 'EEXIST')) throw error;
      return { kind: 'conflict', reason: 'it is not empty' };
    }
  }
  // RACE: as in moveIntoPlace.
  if (!isExpected(now, expected)) return CHANGED;
  fs.unlinkSync(path);
  return DONE;
}

/** Reports whether what stands is what is expected to stand. */
export function isExpected(now: Stat, expected: Expected): boolean {
  if (expected.kind === 'nothing') return false;
  const stamp = stampOf(now);
  if (!expected.anyCtime) return stamp === expected.stamp;
  return withoutCtime(stamp) === withoutCtime(expected.stamp);
}

function withoutCtime(stamp: string): string {
  return stamp.slice(0, stamp.lastIndexOf(':'));
}

/** Makes a directory that is ours alone until {@link setMetadata} gives it its mode. */
export function makeStagingDirectory(path: NativePath): Placed {
  try {
    fs.mkdirSync(path, STAGING_MODE);
    return DONE;
  } catch (error) {
    if (isErrno(error, 'EEXIST')) return CHANGED;
    throw error;
  }
}

/**
 * Sets owner and permission bits of what stands, and a file's time where that is wanted, if its type is
 * what is expected; follows no link.
 */
export function setMetadata(path: NativePath, content: Content, times: Times = 'now'): Placed {
  const now = lstat(path);
  if (now === 'absent') return CHANGED;
  if (content.type === 'symlink') {
    if (!now.isSymbolicLink()) return CHANGED;
    const note = own(now, content, (uid, gid) => {
      fs.lchownSync(path, uid, gid);
    });
    return { kind: 'done', note };
  }
  if (!hasType(now, content)) return CHANGED;
  const { mode } = content;
  return withHandle(path, (handle, stat) => {
    if (!hasType(stat, content)) return CHANGED;
    const note = own(stat, content, (uid, gid) => {
      fs.chownSync(handle, uid, gid);
    });
    fs.chmodSync(handle, mode);
    if (times === 'recorded' && content.type === 'file') {
      fs.utimesSync(handle, new Date(), secondsOf(content.mtimeNs));
    }
    return { kind: 'done', note };
  });
}

/** Sets the permission bits of a regular file; follows no link. */
export function setFileMode(path: NativePath, mode: number): Placed {
  return withHandle(path, (handle, stat) => {
    if (!stat.isFile()) return CHANGED;
    fs.chmodSync(handle, mode);
    return DONE;
  });
}

/** Adds what a later write to the same path came to. */
export function withNote(before: Placed, placed: Placed): Placed {
  if (before.kind !== 'done' || placed.kind !== 'done') return placed;
  if (before.note.includes(placed.note)) return before;
  const kept = placed.note.includes(before.note) ? [] : [before.note];
  return { kind: 'done', note: [...kept, placed.note].join('; ') };
}

/** Says what the system's error at one path means for it; throws on what is no error of the system. */
export function placedError(error: unknown): Placed {
  if (isErrno(error, 'ENOENT', 'ENOTDIR', 'ELOOP')) {
    return { kind: 'conflict', reason: 'a directory above it was replaced' };
  }
  if (errnoOf(error) === '') throw error;
  return { kind: 'failed', reason: errnoWords(error) };
}

/** Somebody was faster. */
export const CHANGED: Placed = { kind: 'conflict', reason: 'it was changed while the rewind ran' };

type Owned = { readonly uid: bigint; readonly gid: bigint };

function hasType(stat: Stat, content: Content): boolean {
  switch (content.type) {
    case 'file':
      return stat.isFile();
    case 'directory':
      return stat.isDirectory();
    case 'fifo':
      return stat.isFIFO();
    case 'symlink':
      return stat.isSymbolicLink();
  }
}

/** Changes the owner where it differs; without the right to, that is a note and no failure. */
function own(now: Owned, wanted: Content, chown: (uid: number, gid: number) => void): string {
  if (Number(now.uid) === wanted.uid && Number(now.gid) === wanted.gid) return '';
  try {
    chown(wanted.uid, wanted.gid);
    return '';
  } catch (error) {
    if (!isErrno(error, 'EPERM', 'EINVAL', 'ENOSYS', 'ENOTSUP')) throw error;
    return `its owner ${wanted.uid}:${wanted.gid} could not be restored: ${errnoWords(error)}`;
  }
}

/** Gives a path that leads to the very file that was looked at, where the system has such paths. */
export function withHandle(
  path: NativePath,
  run: (handle: NativePath, stat: fs.BigIntStats) => Placed,
): Placed {
  if (process.platform !== 'linux') return run(path, fs.lstatSync(path, { bigint: true }));
  const fd = fs.openSync(path, O_PATH | O_NOFOLLOW);
  try {
    const stat = fs.fstatSync(fd, { bigint: true });
    if (stat.isSymbolicLink()) return CHANGED;
    return run(`/proc/self/fd/${fd}`, stat);
  } finally {
    fs.closeSync(fd);
  }
}
