import fs from 'node:fs';
import { join } from 'node:path';
import { isErrno } from '../core/problem.js';

/** How long what nobody names is left alone, for somebody may be about to name it. */
export const GRACE_MS = 60 * 60 * 1000;

/** Removes files named by their hash that nobody names and that are older than `before`. */
export function sweep(
  directory: string,
  named: { readonly has: (name: string) => boolean },
  before: number,
): void {
  for (const name of fs.readdirSync(directory)) {
    if (named.has(name) || !/^[0-9a-f]{64}$/.test(name)) continue;
    const path = join(directory, name);
    const stat = fs.statSync(path, { throwIfNoEntry: false });
    if (stat !== undefined && stat.mtimeMs < before) fs.rmSync(path, { force: true });
  }
}

/** Makes a file young again that is about to be named anew; false where there is none. */
export function renewAge(path: string): boolean {
  const now = new Date();
  try {
    fs.utimesSync(path, now, now);
    return true;
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return false;
    throw error;
  }
}
