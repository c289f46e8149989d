import type { ManifestBuilder } from '../core/manifest-builder.js';
import { KEY } from '../core/manifest-columns.js';

/** A file that a walk has met and not read: its row, and its index in the baseline, -1 where it is new. */
export type WaitingFile = { readonly index: number; readonly previous: number };

/** Files that wait to be read, as two numbers each: there may be a million. */
class WaitingList {
  readonly #index: number[] = [];
  readonly #previous: number[] = [];

  get count(): number {
    return this.#index.length;
  }

  add({ index, previous }: WaitingFile): void {
    this.#index.push(index);
    this.#previous.push(previous);
  }

  at(position: number): WaitingFile {
    return { index: this.#index[position] ?? 0, previous: this.#previous[position] ?? -1 };
  }
}

/** What a walk leaves to be read after it, where time is short. */
export class Waiting {
  /** Files whose bytes are not known. */
  readonly files = new WaitingList();
  /** Trusted files whose turn it is to be read all the same. */
  readonly checks = new WaitingList();

  /**
   * Gives the positions of {@link files} by age times cost, the least first: what was written last is
   * likely to be written next, and of what takes no time the most is safe soon.
   */
  inOrder(builder: ManifestBuilder, nowMs: number): Uint32Array {
    const { count } = this.files;
    const ranks = new Float64Array(count);
    for (let i = 0; i < count; i++) {
      const { index } = this.files.at(i);
      const ageMs = nowMs - Number(builder.key(index, KEY.mtime)) / NS_PER_MS;
      const cost = Number(builder.key(index, KEY.size)) + FILE_COST_BYTES;
      ranks[i] = Math.max(ageMs, SAME_AGE_MS) * cost;
    }
    const order = Uint32Array.from(ranks, (_, i) => i);
    return order.sort((a, b) => (ranks[a] ?? 0) - (ranks[b] ?? 0) || a - b);
  }
}

const NS_PER_MS = 1e6;
/** Files younger than this are of one age: a checkout writes all of its files at once. */
const SAME_AGE_MS = 60_000;
/** Opening and closing a file takes about as long as reading so many bytes of it. */
const FILE_COST_BYTES = 16 * 1024;
