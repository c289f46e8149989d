import type { Change } from './change.js';
import type { Sha256 } from './image.js';

/**
 * Tells which contents are versions of one file: what stood before a change and what stood after it are
 * kin, and so is all that is linked by such changes.
 */
export class Kin {
  readonly #parents = new Map<Sha256, Sha256>();
  readonly #least: number;

  /** Contents of fewer bytes than `least` have no kin. */
  constructor(least: number) {
    this.#least = least;
  }

  /** Joins what stood before and after each change. */
  add(changes: readonly Change[]): void {
    for (const { before, after } of changes) {
      if (before.kind !== 'content' || before.type !== 'file' || before.bytes < this.#least)
        continue;
      if (after.kind !== 'content' || after.type !== 'file' || after.bytes < this.#least) continue;
      const [a, b] = [this.#root(before.sha256), this.#root(after.sha256)];
      this.#parents.set(before.sha256, a);
      this.#parents.set(after.sha256, a);
      if (a !== b) this.#parents.set(b, a);
    }
  }

  /** Names the file that a content is a version of, by one of its versions. */
  of(sha256: Sha256): Sha256 | 'none' {
    return this.#parents.has(sha256) ? this.#root(sha256) : 'none';
  }

  #root(sha256: Sha256): Sha256 {
    let root = sha256;
    for (let up = this.#parents.get(root); up !== undefined && up !== root; ) {
      root = up;
      up = this.#parents.get(root);
    }
    if (root !== sha256) this.#parents.set(sha256, root);
    return root;
  }
}
