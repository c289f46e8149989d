import type { Attributes } from './attributes.js';
import { ABSENT, type Image, PERMISSIONS, type Sha256, type SkipCause } from './image.js';
import {
  type Columns,
  ENTRY,
  FLAG,
  HASH_BYTES,
  KEY,
  KEY_FIELDS,
  type ManifestMeta,
  NOT_KNOWN,
} from './manifest-columns.js';
import { type ByteString, type RelPath, ROOT, relPath } from './relpath.js';

/** The workspace at one moment, without the bytes: immutable, read where it lies. */
export class Manifest {
  readonly meta: ManifestMeta;
  readonly columns: Columns;
  readonly #names: Buffer;
  readonly #texts: Buffer;
  readonly #hashes: Buffer;
  /** The stat keys as 32-bit words, two a field: comparing those makes no objects. */
  readonly keyWords: Int32Array;

  constructor(meta: ManifestMeta, columns: Columns) {
    this.meta = meta;
    this.columns = columns;
    this.#names = viewOf(columns.names);
    this.#texts = viewOf(columns.textBytes);
    this.#hashes = viewOf(columns.hashes);
    const { buffer, byteOffset, length } = columns.keys;
    this.keyWords = new Int32Array(buffer, byteOffset, length * 2);
  }

  get count(): number {
    return this.meta.entries;
  }

  type(index: number): number {
    return at(this.columns.types, index);
  }

  has(index: number, flag: number): boolean {
    return (at(this.columns.flags, index) & flag) !== 0;
  }

  name(index: number): ByteString {
    const start = at(this.columns.nameStarts, index);
    return this.#names.toString('latin1', start, start + at(this.columns.nameLengths, index));
  }

  /** Gives the same with another clock. */
  withClock(clock: string): Manifest {
    return new Manifest({ ...this.meta, clock }, this.columns);
  }

  /** Rebuilds the path of an entry from its parents. */
  path(index: number): RelPath {
    const names: ByteString[] = [];
    for (let entry = index; entry !== 0; entry = at(this.columns.parents, entry)) {
      names.push(this.name(entry));
    }
    return names.length === 0 ? ROOT : relPath(names.reverse().join('/'));
  }

  /** Gives where a directory's entries start and end (exclusive). */
  children(index: number): { readonly start: number; readonly end: number } {
    const start = at(this.columns.childStarts, index);
    return { start, end: start + at(this.columns.childCounts, index) };
  }

  key(index: number, field: number): bigint {
    return this.columns.keys[index * KEY_FIELDS + field] ?? 0n;
  }

  sha256(index: number): Sha256 {
    return this.#hashes.toString('hex', index * HASH_BYTES, (index + 1) * HASH_BYTES);
  }

  /** Reports whether two entries, of this and of another manifest, carry the same hash. */
  sameHash(index: number, other: Manifest, otherIndex: number): boolean {
    const theirs = other.#hashes;
    const from = otherIndex * HASH_BYTES;
    return (
      this.#hashes.compare(
        theirs,
        from,
        from + HASH_BYTES,
        index * HASH_BYTES,
        (index + 1) * HASH_BYTES,
      ) === 0
    );
  }

  /** Gives a link's target or the reason of a skipped entry. */
  text(index: number): ByteString {
    const text = at(this.columns.texts, index);
    const starts = this.columns.textStarts;
    return this.#texts.toString('latin1', at(starts, text), at(starts, text + 1));
  }

  /** Gives the attributes of a file, directory or named pipe; undefined where they are not known. */
  attributes(index: number): Attributes | undefined {
    if (!this.meta.attributes || this.has(index, FLAG.skipped | FLAG.unlisted)) return undefined;
    if (at(this.columns.texts, index) === 0) return '';
    const text = this.text(index);
    return text === NOT_KNOWN ? undefined : text;
  }

  /** Finds a path; -1 where it is not in the manifest. */
  find(path: RelPath): number {
    if (path === '') return 0;
    let index = 0;
    for (const part of path.split('/')) {
      index = this.#child(index, part);
      if (index < 0) return -1;
    }
    return index;
  }

  /** Says what stood at a path, `absent` only where the manifest proves it. */
  imageAt(path: RelPath): Image {
    if (path === '') return this.image(0);
    let index = 0;
    for (const part of path.split('/')) {
      const next = this.#child(index, part);
      if (next < 0) return this.absenceIn(index);
      index = next;
    }
    return this.image(index);
  }

  /** Says what is known of a name that is not among the entries of this directory (or no directory). */
  absenceIn(index: number): Image {
    if (!this.has(index, FLAG.unlisted)) return ABSENT;
    return { kind: 'skipped', why: this.#why(index), reason: this.text(index), stamp: '' };
  }

  /** Gives the image of an entry. */
  image(index: number): Image {
    if (this.has(index, FLAG.skipped)) {
      const stamp = this.stamp(index);
      const linked = this.has(index, FLAG.linkedInStore) ? { linked: true } : {};
      return { kind: 'skipped', why: this.#why(index), reason: this.text(index), stamp, ...linked };
    }
    const uid = Number(this.key(index, KEY.uid));
    const gid = Number(this.key(index, KEY.gid));
    const mode = Number(this.key(index, KEY.mode)) & PERMISSIONS;
    const known = this.attributes(index);
    const attributes = known === undefined ? {} : { attributes: known };
    switch (this.type(index)) {
      case ENTRY.none:
        return ABSENT;
      case ENTRY.directory:
        return { kind: 'content', type: 'directory', mode, uid, gid, ...attributes };
      case ENTRY.fifo:
        return { kind: 'content', type: 'fifo', mode, uid, gid, ...attributes };
      case ENTRY.symlink:
        return { kind: 'content', type: 'symlink', target: this.text(index), uid, gid };
      default:
        return {
          kind: 'content',
          type: 'file',
          sha256: this.sha256(index),
          bytes: Number(this.key(index, KEY.size)),
          mode,
          uid,
          gid,
          mtimeNs: this.key(index, KEY.mtime),
          link: this.has(index, FLAG.linked) ? this.inode(index) : '',
          sparse: this.has(index, FLAG.sparse),
          ...attributes,
        };
    }
  }

  /** Tells an entry's inode, as `FileImage.link` does. */
  inode(index: number): string {
    return `${this.key(index, KEY.dev)}:${this.key(index, KEY.ino)}`;
  }

  /** Lists the directories that a rule left out, `most` of them at the most. */
  leftOut(most: number): { readonly path: RelPath; readonly reason: string }[] {
    const found: { readonly path: RelPath; readonly reason: string }[] = [];
    for (let i = 1; i < this.count && found.length < most; i++) {
      if (!this.has(i, FLAG.leftOut) || this.type(i) !== ENTRY.directory) continue;
      found.push({ path: this.path(i), reason: this.text(i) });
    }
    return found;
  }

  /** Writes an entry's stat key as text. */
  stamp(index: number): string {
    const from = index * KEY_FIELDS;
    return this.columns.keys.subarray(from, from + KEY_FIELDS).join(':');
  }

  /** Reports whether an entry was left for want of time. */
  isOverBudget(index: number): boolean {
    return this.has(index, FLAG.skipped) && this.#why(index) === 'over-budget';
  }

  #why(index: number): SkipCause {
    if (this.has(index, FLAG.leftOut)) return 'left-out';
    if (this.has(index, FLAG.tooLarge)) return 'too-large';
    return this.has(index, FLAG.overBudget) ? 'over-budget' : 'unreadable';
  }

  #child(directory: number, name: ByteString): number {
    const { start, end } = this.children(directory);
    let low = start;
    let high = end;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.name(middle) < name) low = middle + 1;
      else high = middle;
    }
    return low < end && this.name(low) === name ? low : -1;
  }
}

function at(column: Uint8Array | Uint16Array | Uint32Array, index: number): number {
  return column[index] ?? 0;
}

function viewOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
