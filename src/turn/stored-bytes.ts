import type { FileImage } from '../core/image.js';
import { PreimageError } from '../core/problem.js';
import type { Packs } from '../store/packs.js';

/** Reads the bytes of a file image; `unknown` where the store has lost or damaged them. */
export function storedBytes(packs: Packs, { sha256 }: FileImage): Buffer | 'unknown' {
  try {
    return packs.read(sha256);
  } catch (error) {
    if (error instanceof PreimageError && error.code === 'damaged') return 'unknown';
    throw error;
  }
}
