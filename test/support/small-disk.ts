import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { temporary } from './tree.js';

/** Mounts a file system of a few pages; only where `SMALL_DISKS` are. */
export function smallDisk(size: string): string {
  const at = temporary();
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', at]);
  if (mounted.status !== 0) throw new Error(`cannot mount: ${mounted.stderr}`);
  onTestFinished(() => {
    spawnSync('umount', ['-l', at]);
  });
  return at;
}

/** Fills a file system to its last byte; gives the file that does it. */
export function fillDisk(directory: string): string {
  const at = path.join(directory, 'filler');
  const fd = fs.openSync(at, 'w');
  const page = Buffer.alloc(4096, 'x');
  try {
    for (;;) fs.writeSync(fd, page);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error;
  } finally {
    fs.closeSync(fd);
  }
  return at;
}
