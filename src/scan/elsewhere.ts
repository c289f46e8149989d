import type { NativePath } from '../files/native-path.js';
import type { Stat } from '../files/stat.js';
import type { ReadElsewhere, Readers } from './readers.js';

/**
 * The files of a walk that somebody else reads. He is believed only where he read the very file that
 * the walk has met: the whole stat key must be the same. Everything else is read here.
 */
export class Elsewhere<File extends { readonly path: NativePath; readonly stat: Stat }> {
  readonly #readers: Readers | 'none';
  readonly #files = new Map<number, File>();
  #next = 0;

  constructor(readers: Readers | 'none') {
    this.#readers = readers;
  }

  /** Reports whether a file was taken. */
  offer(file: File): boolean {
    if (this.#readers === 'none') return false;
    // A large one would hold up those behind it, and bytes of a path do not get there as such.
    if (typeof file.path !== 'string' || file.stat.size > LARGE_BYTES) return false;
    if (!this.#readers.offer({ id: this.#next, path: file.path })) return false;
    this.#files.set(this.#next, file);
    this.#next += 1;
    return true;
  }

  collect(which: 'done' | 'all'): { readonly file: File; readonly read: ReadElsewhere }[] {
    if (this.#readers === 'none' || this.#files.size === 0) return [];
    return this.#readers.collect(which).flatMap((read) => {
      const file = this.#files.get(read.id);
      this.#files.delete(read.id);
      return file === undefined ? [] : [{ file, read }];
    });
  }
}

const LARGE_BYTES = 1024n * 1024n;
