import fs from 'node:fs';
import { join } from 'node:path';
import { isErrno, PreimageError } from '../core/problem.js';
import { IDENTITY_FILE, openStoreAt, writeIdentity } from '../store/layout.js';
import { setAside } from '../store/set-aside.js';
import { candidateStores, type WhichWorkspace } from './locate.js';

/**
 * Writes a store's own description anew where it cannot be read and it is known whose store it is: its
 * place is the default one of that root, or the root is given. Gives in words what it did.
 */
export function mendIdentity(which: WhichWorkspace): string[] {
  for (const { directory, root } of candidateStores(which)) {
    if (!isDamaged(directory)) continue;
    if (root === 'unknown') {
      throw new PreimageError('damaged', `The store ${directory} does not say whose it is.`, {
        hint: 'Say which workspace it belongs to with --root DIR.',
      });
    }
    const aside = setAside(join(directory, 'damaged'), join(directory, IDENTITY_FILE));
    writeIdentity(directory, root);
    return [`${IDENTITY_FILE} was written anew; the damaged one is ${aside}`];
  }
  return [];
}

function isDamaged(directory: string): boolean {
  try {
    return openStoreAt(directory) === 'none' && hasLog(directory);
  } catch (error) {
    if (error instanceof PreimageError && error.code === 'damaged') return true;
    throw error;
  }
}

/** A store whose description is gone altogether still has its history. */
function hasLog(directory: string): boolean {
  try {
    return fs.statSync(join(directory, 'log')).size > 0;
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ENOTDIR')) return false;
    throw error;
  }
}
