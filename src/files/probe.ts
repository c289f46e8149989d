import { Buffer } from 'node:buffer';
import fs from 'node:fs';
import { isErrno } from '../core/problem.js';
import type { ByteString } from '../core/relpath.js';
import { toNative } from './native-path.js';

/**
 * Takes the present time of a file system's own clock, in nanoseconds, from the ctime of a new file;
 * `none` where no file can be made, and then nothing on that file system is trusted.
 *
 * The process's clock is never used: it may run ahead of or behind the one that stamps files.
 */
export function probeClock(directory: ByteString, fallbackDirectory: ByteString): bigint | 'none' {
  const unnamed = probeUnnamed(directory);
  if (unnamed !== 'unsupported') return unnamed;
  const inStore = probeNamed(fallbackDirectory);
  if (inStore !== 'none' && deviceOf(fallbackDirectory) === deviceOf(directory)) return inStore;
  return probeNamed(directory);
}

// The kernel's value on all of Linux's common architectures (include/uapi/asm-generic/fcntl.h:
// __O_TMPFILE | O_DIRECTORY); Node does not export it.
const O_TMPFILE = 0o20000000 | (fs.constants.O_DIRECTORY ?? 0);

function probeUnnamed(directory: ByteString): bigint | 'none' | 'unsupported' {
  if (process.platform !== 'linux') return 'unsupported';
  let fd: number;
  try {
    fd = fs.openSync(toNative(directory), O_TMPFILE | fs.constants.O_RDWR, 0o600);
  } catch (error) {
    if (isErrno(error, 'EROFS', 'ENOSPC', 'EDQUOT')) return 'none';
    return 'unsupported';
  }
  try {
    return fs.fstatSync(fd, { bigint: true }).ctimeNs;
  } finally {
    fs.closeSync(fd);
  }
}

function probeNamed(directory: ByteString): bigint | 'none' {
  const path = toNative(`${directory}/.preimage-probe-${process.pid}`);
  try {
    const fd = fs.openSync(path, 'wx', 0o600);
    try {
      return fs.fstatSync(fd, { bigint: true }).ctimeNs;
    } finally {
      fs.closeSync(fd);
      fs.unlinkSync(path);
    }
  } catch {
    return 'none';
  }
}

function deviceOf(directory: ByteString): bigint {
  return fs.statSync(Buffer.from(directory, 'latin1'), { bigint: true }).dev;
}
