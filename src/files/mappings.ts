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
    let maps: string;
    try {
      maps = fs.readFileSync(`/proc/${pid}/maps`, 'latin1');
    } catch (error) {
      // A process that ended meanwhile maps nothing; one of another user cannot be asked.
      complete &&= isErrno(error, 'ENOENT', 'ESRCH');
      continue;
    }
    if (!maps.includes(' rw-s ')) continue;
    for (const match of maps.matchAll(/ rw-s [0-9a-f]+ [0-9a-f]+:[0-9a-f]+ ([1-9]\d*) /g)) {
      if (match[1] !== undefined) inodes.add(BigInt(match[1]));
    }
  }
  return { inodes, complete };
}
