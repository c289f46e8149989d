import fs from 'node:fs';
import { isErrno } from '../core/problem.js';
import { type ByteString, parentOf, type RelPath, ROOT } from '../core/relpath.js';
import type { Tree } from '../files/tree.js';

/** Names what a step stages in the workspace, so that whoever recovers it finds what a crash has left. */
export function stagedPrefix(step: number): ByteString {
  return `.preimage-${step}-`;
}

/**
 * Removes what a cut-off step has staged: files of its name in the directories of some paths and in
 * those above them. A directory that cannot be listed was closed after everything in it was in place.
 */
export function removeStaged(tree: Tree, step: number, paths: Iterable<RelPath>): void {
  const directories = new Set<RelPath>([ROOT]);
  for (const path of paths) {
    for (let at = parentOf(path); !directories.has(at); at = parentOf(at)) directories.add(at);
  }
  const prefix = stagedPrefix(step);
  for (const path of directories) {
    const directory = tree.directory(path);
    if (directory.kind !== 'directory') continue;
    for (const name of namesIn(directory.self)) {
      if (name.startsWith(prefix) && /^[0-9a-f]+$/.test(name.slice(prefix.length))) {
        fs.unlinkSync(directory.at(name));
      }
    }
  }
}

function namesIn(directory: string | Buffer): ByteString[] {
  try {
    return fs.readdirSync(directory, 'latin1');
  } catch (error) {
    if (isErrno(error, 'EACCES', 'EPERM', 'ENOENT')) return [];
    throw error;
  }
}
