import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import { dirname } from 'node:path';
import { isErrno } from '../core/problem.js';

/** The store is its owner's alone: it holds copies of `.env`. */
const PRIVATE_DIRECTORY = 0o700;
export const PRIVATE_FILE = 0o600;

const { O_APPEND, O_CREAT, O_RDWR, O_TRUNC, O_WRONLY } = fs.constants;
const O_NOFOLLOW = fs.constants.O_NOFOLLOW ?? 0;

/** How the store's files are opened to be written: never through a link that took their place. */
export const OPEN = {
  update: O_RDWR | O_CREAT | O_NOFOLLOW,
  append: O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW,
  anew: O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW,
} as const;

/** Makes a directory and those above it, for the owner only, whatever the umask says. */
export function makePrivateDirectory(path: string): void {
  const made = fs.mkdirSync(path, { recursive: true, mode: PRIVATE_DIRECTORY });
  if (made !== undefined) fs.chmodSync(path, PRIVATE_DIRECTORY);
}

/**
 * Writes a file so that it stands whole or not at all, also after a power cut: temporary file in the
 * same directory, fsync, rename, fsync of the directory.
 */
export function writeDurably(path: string, runs: readonly Uint8Array[]): void {
  writeWhole(path, runs, fs.fsyncSync);
  syncDirectory(dirname(path));
}

/**
 * Writes a file so that whoever reads it sees it whole; a power cut may still take it. For what can be
 * made again.
 */
export function writeWhole(
  path: string,
  runs: readonly Uint8Array[],
  sync: (fd: number) => void = () => {},
): void {
  const temporary = `${path}.${process.pid}-${randomBytes(4).toString('hex')}.tmp`;
  try {
    const fd = fs.openSync(temporary, 'wx', PRIVATE_FILE);
    try {
      for (const run of runs) writeAll(fd, run);
      sync(fd);
    } finally {
      fs.closeSync(fd);
    }
    fs.renameSync(temporary, path);
  } catch (error) {
    fs.rmSync(temporary, { force: true });
    throw error;
  }
}

/** Writes all of the bytes at the file's end (or at a position). */
export function writeAll(fd: number, bytes: Uint8Array, position: number | null = null): void {
  let done = 0;
  while (done < bytes.length) {
    const at = position === null ? null : position + done;
    done += fs.writeSync(fd, bytes, done, bytes.length - done, at);
  }
}

/** Makes the names in a directory durable; where a system cannot sync a directory, nothing is lost. */
export function syncDirectory(path: string): void {
  let fd: number;
  try {
    fd = fs.openSync(path, 'r');
  } catch (error) {
    if (isErrno(error, 'EISDIR', 'EPERM', 'EACCES')) return;
    throw error;
  }
  try {
    fs.fsyncSync(fd);
  } catch (error) {
    // Windows and some network systems have no such thing.
    if (!isErrno(error, 'EPERM', 'EINVAL', 'EBADF', 'ENOTSUP')) throw error;
  } finally {
    fs.closeSync(fd);
  }
}
