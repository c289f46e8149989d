import fs from 'node:fs';
import type { Manifest } from '../core/manifest.js';
import { errnoWords, isErrno } from '../core/problem.js';
import type { ByteString } from '../core/relpath.js';
import { CACHEDIR_SIGNATURE } from '../core/rules.js';
import type { NativePath } from '../files/native-path.js';

/** The names in a directory in byte order, or why they are not known. */
export type Listing =
  | { readonly kind: 'names'; readonly names: readonly ByteString[] }
  | { readonly kind: 'unknown'; readonly reason: string };

/** What a path is said to have done when it is not what it was a moment ago. */
export const CHANGED_MEANWHILE = 'it changed while it was scanned';

/** Lists a directory. Throws only what has nothing to do with this directory. */
export function listDirectory(path: NativePath): Listing {
  try {
    return { kind: 'names', names: fs.readdirSync(path, 'latin1').sort() };
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ENOTDIR', 'ELOOP')) {
      return { kind: 'unknown', reason: CHANGED_MEANWHILE };
    }
    if (!isErrno(error, 'EACCES', 'EPERM', 'EIO', 'ESTALE')) throw error;
    return { kind: 'unknown', reason: `it cannot be listed: ${errnoWords(error)}` };
  }
}

/** Reports whether a file is a valid CACHEDIR.TAG. */
export function isCacheTag(path: NativePath): boolean {
  try {
    const fd = fs.openSync(path, fs.constants.O_RDONLY | (fs.constants.O_NONBLOCK ?? 0));
    try {
      const bytes = Buffer.alloc(CACHEDIR_SIGNATURE.length);
      fs.readSync(fd, bytes, 0, bytes.length, 0);
      return bytes.toString('latin1') === CACHEDIR_SIGNATURE;
    } finally {
      fs.closeSync(fd);
    }
  } catch {
    return false;
  }
}

/** Finds the entries of a directory in the previous manifest; names are asked in byte order. */
export class PreviousNames {
  readonly #manifest: Manifest | 'none';
  #next = 0;
  #end = 0;

  constructor(manifest: Manifest | 'none', directory: number) {
    this.#manifest = manifest;
    if (manifest === 'none' || directory < 0) return;
    const { start, end } = manifest.children(directory);
    this.#next = start;
    this.#end = end;
  }

  /** Gives the index of a name, -1 where it is new. */
  seek(name: ByteString): number {
    if (this.#manifest === 'none') return -1;
    while (this.#next < this.#end) {
      const known = this.#manifest.name(this.#next);
      if (known > name) return -1;
      this.#next += 1;
      if (known === name) return this.#next - 1;
    }
    return -1;
  }
}
