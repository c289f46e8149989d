import fs from 'node:fs';
import { errnoOf, isErrno } from '../core/problem.js';
import type { ByteString } from '../core/relpath.js';
import { type NativePath, toNative } from './native-path.js';
import { childProcess } from './on-demand.js';

/**
 * Makes everything that was written to the file system of a directory durable at once, which is
 * seconds faster than thousands of fsyncs. Only where {@link canSyncFileSystem}.
 */
export function syncFileSystem(directory: ByteString): void {
  const path = toNative(directory).toString();
  const result = childProcess().spawnSync(SYNC, ['-f', path], { stdio: 'ignore' });
  if (result.status === 0) return;
  // A `sync` without `-f` (or a root that is gone by now) syncs every file system instead.
  const whole = childProcess().spawnSync(SYNC, [], { stdio: 'ignore' });
  if (whole.status === 0) return;
  throw Object.assign(whole.error ?? new Error('sync failed'), {
    code: errnoOf(whole.error) || 'EIO',
  });
}

/** Makes a file's or a directory's own bytes, mode and names durable; false where we may not open it. */
export function syncPlace(path: NativePath): boolean {
  let fd: number;
  try {
    fd = fs.openSync(
      path,
      fs.constants.O_RDONLY | (fs.constants.O_NOFOLLOW ?? 0) | (fs.constants.O_NONBLOCK ?? 0),
    );
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ENOTDIR', 'ELOOP', 'ENXIO')) return true;
    // Closed to us by the mode that it was just given.
    if (isErrno(error, 'EACCES', 'EPERM')) return false;
    throw error;
  }
  try {
    fs.fsyncSync(fd);
  } catch (error) {
    // Pipes, Windows' directories and some network systems have no such thing.
    if (!isErrno(error, 'EPERM', 'EINVAL', 'EBADF', 'ENOTSUP')) throw error;
  } finally {
    fs.closeSync(fd);
  }
  return true;
}

/** Reports whether the system can make a whole file system durable at once. */
export function canSyncFileSystem(): boolean {
  return process.platform === 'linux' && fs.existsSync(SYNC);
}

const SYNC = '/bin/sync';
