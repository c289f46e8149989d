import fs from 'node:fs';
import { isErrno } from '../core/problem.js';
import type { NativePath } from './native-path.js';
import { withHandle } from './place.js';

/**
 * Says why the system would refuse to change what stands at a path, whoever asks: it is marked
 * immutable, or the file system is mounted read-only; `''` where it would not. Missing rights are not
 * looked for, for an owner can lend them. Follows no link.
 *
 * Linux answers an access(2) for writing with EPERM for an immutable inode (`inode_permission`).
 */
export function whyFrozen(path: NativePath): string {
  try {
    withHandle(path, (handle) => {
      fs.accessSync(handle, fs.constants.W_OK);
      return { kind: 'done', note: '' };
    });
    return '';
  } catch (error) {
    if (isErrno(error, 'EPERM')) return 'it is marked immutable';
    if (isErrno(error, 'EROFS')) return 'its file system is mounted read-only';
    return '';
  }
}
