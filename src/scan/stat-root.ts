import fs from 'node:fs';
import { errnoWords, isErrno, PreimageError } from '../core/problem.js';
import type { ByteString } from '../core/relpath.js';
import { toNative } from '../files/native-path.js';
import type { Stat } from '../files/stat.js';

/** Looks at the root; links above it and at it are the user's own and are followed. */
export function statRoot(root: ByteString): Stat | 'absent' {
  try {
    const stat = fs.statSync(toNative(root), { bigint: true });
    if (stat.isDirectory()) return stat;
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ENOTDIR')) return 'absent';
    throw new PreimageError('cannot-read', `Cannot scan the workspace: ${errnoWords(error)}.`, {
      cause: error,
    });
  }
  throw new PreimageError('cannot-read', 'Cannot scan the workspace: it is no directory.');
}
