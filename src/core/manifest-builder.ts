import type { Sha256, SkipCause } from './image.js';
import { Manifest } from './manifest.js';
import {
  type Columns,
  FLAG,
  HASH_BYTES,
  KEY,
  KEY_FIELDS,
  type ManifestMeta,
  type NewEntry,
  type StatKey,
} from './manifest-columns.js';
import { type ByteString, type RelPath, ROOT, relPath } from './relpath.js';

/** How far a building was at one moment. */
export type BuilderMark = { readonly count: number; readonly namesLength: number };

/** Gathers the columns of a manifest; the entries of one directory are added one after another. */
export class ManifestBuilder {
  #capacity: number;
  #count = 0;
  #types: Uint8Array<SharedArrayBuffer>;
  #flags: Uint8Array<SharedArrayBuffer>;
  #keys: BigInt64Array<SharedArrayBuffer>;
  #keyWords: Int32Array<SharedArrayBuffer>;
  #hashes: Buffer<SharedArrayBuffer>;
  #textOf: Uint32Array<SharedArrayBuffer>;
  #nameStarts: Uint32Array<SharedArrayBuffer>;
  #nameLengths: Uint16Array<SharedArrayBuffer>;
  #parents: Uint32Array<SharedArrayBuffer>;
  #childStarts: Uint32Array<SharedArrayBuffer>;
  #childCounts: Uint32Array<SharedArrayBuffer>;
  #names = Buffer.from(room(16 * 1024));
  #namesLength = 0;
  readonly #texts = new Map<ByteString, number>([['', 0]]);

  /** `expected` is how many entries there may be: room is made for some more from the start. */
  constructor(expected = 0) {
    this.#capacity = Math.max(1024, expected + (expected >>> 6));
    const n = this.#capacity;
    this.#types = new Uint8Array(room(n));
    this.#flags = new Uint8Array(room(n));
    this.#keys = new BigInt64Array(room(n * KEY_FIELDS * 8));
    this.#keyWords = new Int32Array(this.#keys.buffer);
    this.#hashes = Buffer.from(room(n * HASH_BYTES));
    this.#textOf = new Uint32Array(room(n * 4));
    this.#nameStarts = new Uint32Array(room(n * 4));
    this.#nameLengths = new Uint16Array(room(n * 2));
    this.#parents = new Uint32Array(room(n * 4));
    this.#childStarts = new Uint32Array(room(n * 4));
    this.#childCounts = new Uint32Array(room(n * 4));
  }

  get count(): number {
    return this.#count;
  }

  /** Adds an entry and gives its index. */
  add(entry: NewEntry): number {
    if (this.#count === this.#capacity) this.#grow();
    const index = this.#count++;
    this.#types[index] = entry.type;
    this.#flags[index] = entry.flags;
    this.#parents[index] = entry.parent;
    this.#textOf[index] = this.#text(entry.text);
    this.#name(index, entry.name);
    this.setKey(index, entry.key);
    return index;
  }

  /** Adds an entry that is in all but its place what it was; a directory's own entries come later. */
  copy(parent: number, from: Manifest, fromIndex: number): number {
    if (this.#count === this.#capacity) this.#grow();
    const index = this.#count++;
    const { columns } = from;
    this.#types[index] = columns.types[fromIndex] ?? 0;
    this.#flags[index] = columns.flags[fromIndex] ?? 0;
    this.#parents[index] = parent;
    this.#textOf[index] = this.#text(from.text(fromIndex));
    const start = columns.nameStarts[fromIndex] ?? 0;
    const length = columns.nameLengths[fromIndex] ?? 0;
    this.#nameRoom(length);
    this.#nameStarts[index] = this.#namesLength;
    this.#nameLengths[index] = length;
    for (let i = 0; i < length; i++) {
      this.#names[this.#namesLength + i] = columns.names[start + i] ?? 0;
    }
    this.#namesLength += length;
    const ours = index * KEY_WORDS;
    const theirs = fromIndex * KEY_WORDS;
    for (let i = 0; i < KEY_WORDS; i++) {
      this.#keyWords[ours + i] = from.keyWords[theirs + i] ?? 0;
    }
    this.copyHash(index, from, fromIndex);
    return index;
  }

  /** Takes all flags of an entry back. */
  clearFlags(index: number): void {
    this.#flags[index] = 0;
  }

  /** Remembers how far the building is: see {@link rollBack}. */
  mark(): BuilderMark {
    return { count: this.#count, namesLength: this.#namesLength };
  }

  /** Forgets all entries that were added after a mark. */
  rollBack(mark: BuilderMark): void {
    this.#childStarts.fill(0, mark.count, this.#count);
    this.#childCounts.fill(0, mark.count, this.#count);
    this.#hashes.fill(0, mark.count * HASH_BYTES, this.#count * HASH_BYTES);
    this.#count = mark.count;
    this.#namesLength = mark.namesLength;
  }

  /** Names where the entries of a directory stand: `count` of them from `start` on. */
  setChildren(directory: number, start: number, count: number): void {
    this.#childStarts[directory] = start;
    this.#childCounts[directory] = count;
  }

  setKey(index: number, key: StatKey): void {
    const row = index * KEY_FIELDS;
    this.#keys[row + KEY.dev] = key.dev;
    this.#keys[row + KEY.ino] = key.ino;
    this.#keys[row + KEY.mode] = key.mode;
    this.#keys[row + KEY.uid] = key.uid;
    this.#keys[row + KEY.gid] = key.gid;
    this.#keys[row + KEY.size] = key.size;
    this.#keys[row + KEY.mtime] = key.mtimeNs;
    this.#keys[row + KEY.ctime] = key.ctimeNs;
  }

  /** Reports whether the stat key of an entry equals that of an entry of a finished manifest. */
  sameKey(index: number, other: Manifest, otherIndex: number): boolean {
    const ours = index * KEY_WORDS;
    const theirs = otherIndex * KEY_WORDS;
    const words = other.keyWords;
    for (let i = 0; i < KEY_WORDS; i++) {
      if (this.#keyWords[ours + i] !== words[theirs + i]) return false;
    }
    return true;
  }

  /** Reports whether an entry is still the inode that it was, untouched: what else moves moves ctime. */
  hasKey(index: number, { dev, ino, ctimeNs }: StatKey): boolean {
    const row = index * KEY_FIELDS;
    const keys = this.#keys;
    return (
      keys[row + KEY.ctime] === ctimeNs &&
      keys[row + KEY.ino] === ino &&
      keys[row + KEY.dev] === dev
    );
  }

  /** Gives a field of an entry's stat key: one of `KEY`. */
  key(index: number, field: number): bigint {
    return this.#keys[index * KEY_FIELDS + field] ?? 0n;
  }

  setHash(index: number, sha256: Sha256): void {
    this.#hashes.write(sha256, index * HASH_BYTES, HASH_BYTES, 'hex');
  }

  copyHash(index: number, from: Manifest, fromIndex: number): void {
    const start = fromIndex * HASH_BYTES;
    const hashes = from.columns.hashes;
    const at = index * HASH_BYTES;
    for (let i = 0; i < HASH_BYTES; i++) this.#hashes[at + i] = hashes[start + i] ?? 0;
  }

  /** Sets facts about an entry: bits of `FLAG`. */
  setFlags(index: number, flags: number): void {
    this.#flags[index] = (this.#flags[index] ?? 0) | flags;
  }

  /** Marks an entry as not captured. */
  setSkipped(index: number, why: SkipCause, reason: ByteString): void {
    this.setFlags(index, FLAG.skipped | CAUSE_FLAGS[why]);
    this.#textOf[index] = this.#text(reason);
  }

  /** Marks a directory as one whose entries are not known. */
  setUnlisted(index: number, reason: ByteString): void {
    this.setFlags(index, FLAG.unlisted);
    this.#textOf[index] = this.#text(reason);
  }

  setText(index: number, text: ByteString): void {
    this.#textOf[index] = this.#text(text);
  }

  has(index: number, flag: number): boolean {
    return ((this.#flags[index] ?? 0) & flag) !== 0;
  }

  /** Rebuilds the path of an entry from its parents. */
  path(index: number): RelPath {
    const names: ByteString[] = [];
    for (let entry = index; entry !== 0; entry = this.#parents[entry] ?? 0) {
      const start = this.#nameStarts[entry] ?? 0;
      names.push(this.#names.toString('latin1', start, start + (this.#nameLengths[entry] ?? 0)));
    }
    return names.length === 0 ? ROOT : relPath(names.reverse().join('/'));
  }

  /** Ends the building; the builder must not be used after. */
  finish(meta: Omit<ManifestMeta, 'entries'>): Manifest {
    const n = this.#count;
    const texts = [...this.#texts.keys()];
    const textStarts = new Uint32Array(texts.length + 1);
    texts.forEach((text, i) => {
      textStarts[i + 1] = (textStarts[i] ?? 0) + text.length;
    });
    const columns: Columns = {
      types: this.#types.subarray(0, n),
      flags: this.#flags.subarray(0, n),
      keys: this.#keys.subarray(0, n * KEY_FIELDS),
      hashes: this.#hashes.subarray(0, n * HASH_BYTES),
      texts: this.#textOf.subarray(0, n),
      nameStarts: this.#nameStarts.subarray(0, n),
      nameLengths: this.#nameLengths.subarray(0, n),
      parents: this.#parents.subarray(0, n),
      childStarts: this.#childStarts.subarray(0, n),
      childCounts: this.#childCounts.subarray(0, n),
      names: this.#names.subarray(0, this.#namesLength),
      textBytes: Buffer.from(texts.join(''), 'latin1'),
      textStarts,
    };
    return new Manifest({ ...meta, entries: n }, columns);
  }

  #text(text: ByteString): number {
    const known = this.#texts.get(text);
    if (known !== undefined) return known;
    const index = this.#texts.size;
    this.#texts.set(text, index);
    return index;
  }

  #name(index: number, name: ByteString): void {
    this.#nameRoom(name.length);
    this.#nameStarts[index] = this.#namesLength;
    this.#nameLengths[index] = name.length;
    this.#names.write(name, this.#namesLength, name.length, 'latin1');
    this.#namesLength += name.length;
  }

  #nameRoom(length: number): void {
    const needed = this.#namesLength + length;
    if (needed <= this.#names.length) return;
    const larger = Buffer.from(room(Math.max(this.#names.length * 2, needed)));
    larger.set(this.#names);
    this.#names = larger;
  }

  #grow(): void {
    this.#capacity += this.#capacity >>> 1;
    const n = this.#capacity;
    this.#types = larger(this.#types, new Uint8Array(room(n)));
    this.#flags = larger(this.#flags, new Uint8Array(room(n)));
    this.#hashes = larger(this.#hashes, Buffer.from(room(n * HASH_BYTES)));
    this.#textOf = larger(this.#textOf, new Uint32Array(room(n * 4)));
    this.#nameStarts = larger(this.#nameStarts, new Uint32Array(room(n * 4)));
    this.#nameLengths = larger(this.#nameLengths, new Uint16Array(room(n * 2)));
    this.#parents = larger(this.#parents, new Uint32Array(room(n * 4)));
    this.#childStarts = larger(this.#childStarts, new Uint32Array(room(n * 4)));
    this.#childCounts = larger(this.#childCounts, new Uint32Array(room(n * 4)));
    const keys = new BigInt64Array(room(n * KEY_FIELDS * 8));
    keys.set(this.#keys);
    this.#keys = keys;
    this.#keyWords = new Int32Array(keys.buffer);
  }
}

/** Makes room for a column, shared: the next scan's threads read it where it lies. */
function room(bytes: number): SharedArrayBuffer {
  return new SharedArrayBuffer(bytes);
}

/** 32-bit words of a stat key. */
const KEY_WORDS = KEY_FIELDS * 2;

const CAUSE_FLAGS = {
  'left-out': FLAG.leftOut,
  'too-large': FLAG.tooLarge,
  'over-budget': FLAG.overBudget,
  unreadable: 0,
} as const;

function larger<T extends Uint8Array | Uint16Array | Uint32Array>(from: T, to: T): T {
  to.set(from);
  return to;
}
