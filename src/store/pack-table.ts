import type { Sha256 } from '../core/image.js';

const HASH_BYTES = 32;
const EMPTY = 0;

/**
 * The contents of a pack that is being written, with the place and the share of each: hashes in one
 * buffer, found by their first 32 bits. A first scan of a million files has as many of them.
 */
export class PackTable {
  #count = 0;
  #hashes = Buffer.alloc(64 * HASH_BYTES);
  #offsets = new Float64Array(64);
  #shares = new Float64Array(64);
  /** Rows by hash, counted from 1; half of it stays free. */
  #slots = new Uint32Array(128);
  readonly #wanted = Buffer.alloc(HASH_BYTES);

  get count(): number {
    return this.#count;
  }

  /** Gives the row of a content, -1 where there is none. */
  find(sha256: Sha256): number {
    this.#wanted.write(sha256, 0, HASH_BYTES, 'hex');
    return (this.#slots[this.#slotOf(this.#wanted, 0)] ?? EMPTY) - 1;
  }

  /** Adds a content, or gives it another place. */
  set(sha256: Sha256, offset: number, share: number): void {
    let row = this.find(sha256);
    if (row < 0) {
      if (this.#count === this.#offsets.length) this.#grow();
      row = this.#count++;
      this.#hashes.set(this.#wanted, row * HASH_BYTES);
      this.#slots[this.#slotOf(this.#wanted, 0)] = row + 1;
    }
    this.#offsets[row] = offset;
    this.#shares[row] = share;
  }

  offset(row: number): number {
    return this.#offsets[row] ?? 0;
  }

  share(row: number): number {
    return this.#shares[row] ?? 0;
  }

  /** Copies a content's hash into a buffer. */
  copyHash(row: number, target: Buffer, at: number): void {
    this.#hashes.copy(target, at, row * HASH_BYTES, (row + 1) * HASH_BYTES);
  }

  /** Lists the rows in the order of their hashes: by the first 40 bits as numbers, the rest by bytes. */
  inOrder(): Uint32Array {
    const keys = new BigUint64Array(this.#count);
    for (let row = 0; row < this.#count; row++) {
      const first = this.#hashes.readUIntBE(row * HASH_BYTES, 5);
      keys[row] = (BigInt(first) << ROW_BITS) | BigInt(row);
    }
    keys.sort();
    const rows = Uint32Array.from(keys, (key) => Number(key & ROW_MASK));
    // Alike in 40 bits are next to none: each moves back to its place among them.
    for (let i = 1; i < rows.length; i++) {
      for (let at = i; at > 0 && this.#isBefore(rows[at] ?? 0, rows[at - 1] ?? 0); at--) {
        [rows[at - 1], rows[at]] = [rows[at] ?? 0, rows[at - 1] ?? 0];
      }
    }
    return rows;
  }

  #isBefore(a: number, b: number): boolean {
    const at = b * HASH_BYTES;
    const own = a * HASH_BYTES;
    return this.#hashes.compare(this.#hashes, at, at + HASH_BYTES, own, own + HASH_BYTES) < 0;
  }

  /** Gives the slot that holds a hash, or the free one where it belongs. */
  #slotOf(hashes: Buffer, at: number): number {
    const mask = this.#slots.length - 1;
    for (let slot = hashes.readUInt32LE(at) & mask; ; slot = (slot + 1) & mask) {
      const row = this.#slots[slot] ?? EMPTY;
      if (row === EMPTY) return slot;
      const start = (row - 1) * HASH_BYTES;
      const order = hashes.compare(this.#hashes, start, start + HASH_BYTES, at, at + HASH_BYTES);
      if (order === 0) return slot;
    }
  }

  #grow(): void {
    const rows = this.#count * 2;
    const hashes = Buffer.alloc(rows * HASH_BYTES);
    hashes.set(this.#hashes);
    this.#hashes = hashes;
    const [offsets, shares] = [new Float64Array(rows), new Float64Array(rows)];
    offsets.set(this.#offsets);
    shares.set(this.#shares);
    this.#offsets = offsets;
    this.#shares = shares;
    this.#slots = new Uint32Array(rows * 2);
    for (let row = 0; row < this.#count; row++) {
      this.#slots[this.#slotOf(hashes, row * HASH_BYTES)] = row + 1;
    }
  }
}

/** More contents than this many bits can count would be over 500 MB of hashes. */
const ROW_BITS = 24n;
const ROW_MASK = (1n << ROW_BITS) - 1n;
