import fs from 'node:fs';
import { isErrno } from '../core/problem.js';

/** Inodes that some process maps writable and shared, and whether all processes could be asked. */
export type Mappings = { readonly inodes: ReadonlySet<bigint>; readonly complete: boolean };

/**
 * Finds files whose bytes can change without moving any stamp: pages of a shared writable mapping
 * that were dirty before do not fault again, so neither mtime nor ctime moves (measured on ext4, xfs,
 * btrfs and tmpfs). Devices are not compared, for btrfs tells another one here than `lstat` does; an
 * inode of another file system only costs a hash.
 *
 * Where the maps of other users' processes cannot be read, `complete` is false.
 */
export function sharedWritableInodes(): Mappings {
  const inodes = new Set<bigint>();
  if (process.platform !== 'linux') return { inodes, complete: false };
  let complete = true;
  for (const pid of fs.readdirSync('/proc')) {
    if (!/^\d+$/.test(pid)) continue;
    try {
      readMaps(`/proc/${pid}/maps`, inodes);
    } catch (error) {
      // A process that ended meanwhile maps nothing; one of another user cannot be asked.
      complete &&= isErrno(error, 'ENOENT', 'ESRCH');
    }
  }
  return { inodes, complete };
}

/** One for all: half of all processes are the kernel's own and have no maps at all. */
const buffer = Buffer.alloc(64 * 1024);
const SHARED = ' rw-s ';
const LF = 10;

function readMaps(path: string, inodes: Set<bigint>): void {
  const fd = fs.openSync(path, 'r');
  try {
    // What a read cuts off is the beginning of a line; its end comes with the next one.
    let kept = 0;
    for (;;) {
      const length = fs.readSync(fd, buffer, kept, buffer.length - kept, null);
      if (length === 0) return;
      const end = kept + length;
      const lines = buffer.subarray(0, buffer.lastIndexOf(LF, end - 1) + 1);
      if (lines.includes(SHARED)) addInodes(lines.toString('latin1'), inodes);
      // No line is longer than a path and 100 more; one that fills all cannot be looked at.
      kept = lines.length === 0 && end === buffer.length ? 0 : end - lines.length;
      buffer.copyWithin(0, end - kept, end);
    }
  } finally {
    fs.closeSync(fd);
  }
}

function addInodes(lines: string, inodes: Set<bigint>): void {
  for (const match of lines.matchAll(/ rw-s [0-9a-f]+ [0-9a-f]+:[0-9a-f]+ ([1-9]\d*) /g)) {
    if (match[1] !== undefined) inodes.add(BigInt(match[1]));
  }
}
