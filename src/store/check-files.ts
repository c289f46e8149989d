import fs from 'node:fs';
import { join } from 'node:path';
import { isErrno } from '../core/problem.js';
import { hashRange } from './pack-reader.js';

/** The files of a directory that are named by the hash of their bytes. */
export type CheckedFiles = {
  readonly whole: ReadonlySet<string>;
  readonly damaged: readonly string[];
  readonly bytes: number;
};

/** Reads every byte of the files of a directory and checks it against their names. */
export function checkFiles(paths: ReadonlyMap<string, string>): CheckedFiles {
  const whole = new Set<string>();
  const damaged: string[] = [];
  let bytes = 0;
  for (const [name, path] of paths) {
    const stat = fs.statSync(path, { throwIfNoEntry: false });
    if (stat === undefined) continue;
    const hash = hashFile(path, stat.size);
    // RACE: a close meanwhile removes the manifests that nothing names any more.
    if (hash === 'gone') continue;
    bytes += stat.size;
    if (hash === name) whole.add(name);
    else damaged.push(name);
  }
  return { whole, damaged, bytes };
}

/** Lists the files of a directory that are named by a hash, with their paths. */
export function hashNamed(directory: string): Map<string, string> {
  const names = fs.readdirSync(directory).filter((name) => /^[0-9a-f]{64}$/.test(name));
  return new Map(names.map((name) => [name, join(directory, name)]));
}

function hashFile(path: string, size: number): string {
  let fd: number;
  try {
    fd = fs.openSync(path, 'r');
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return 'gone';
    throw error;
  }
  try {
    return hashRange(fd, 0, size);
  } finally {
    fs.closeSync(fd);
  }
}
