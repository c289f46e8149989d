import type { ByteString } from '../relpath.js';

/** What git's index says of one path and stage, without the stat data that git only remembers. */
type IndexEntry = {
  readonly path: ByteString;
  /** 0, or 1 to 3 in a conflict of git's own. */
  readonly stage: number;
  /** Mode, object and flags as one text: two entries with the same text say the same. */
  readonly content: string;
};

/** A git index: what is staged, in the file's order, and what its extensions say about it. */
export type GitIndex = {
  readonly entries: readonly IndexEntry[];
  /** Extensions that are no mere caches, as signature and bytes. */
  readonly extensions: readonly ByteString[];
};

/**
 * Reads a git index of version 2 to 4, with object names of 20 or 32 bytes (see
 * gitformat-index(5)). `unreadable` for anything that is not understood whole: a split or a sparse
 * index, an unknown extension that must be understood, a byte too many.
 */
export function parseIndex(bytes: Uint8Array): GitIndex | 'unreadable' {
  for (const idBytes of OBJECT_NAME_BYTES) {
    try {
      return new IndexReader(bytes, idBytes).read();
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
    }
  }
  return 'unreadable';
}

/** Reports whether two indexes stage the same: `git status` writes stat data anew and no more. */
export function sameIndex(a: GitIndex, b: GitIndex): boolean {
  return (
    countStagedDifferently(a, b) === 0 &&
    a.extensions.length === b.extensions.length &&
    a.extensions.every((extension, i) => extension === b.extensions[i])
  );
}

/** Counts the paths that two indexes stage differently. */
export function countStagedDifferently(a: GitIndex, b: GitIndex): number {
  const left = byPath(a);
  const right = byPath(b);
  let count = 0;
  for (const [path, content] of left) if (right.get(path) !== content) count += 1;
  for (const path of right.keys()) if (!left.has(path)) count += 1;
  return count;
}

function byPath({ entries }: GitIndex): Map<ByteString, string> {
  const staged = new Map<ByteString, string>();
  for (const { path, stage, content } of entries) {
    staged.set(path, `${staged.get(path) ?? ''}${stage} ${content}\n`);
  }
  return staged;
}

const OBJECT_NAME_BYTES = [20, 32] as const;

const HEADER_BYTES = 12;
/** Stat data before the object's name: ctime, mtime, dev, ino, mode, uid, gid, size. */
const STAT_BYTES = 40;
const MODE_OFFSET = 24;
const ASSUME_VALID = 0x8000;
const EXTENDED = 0x4000;
const NAME_LENGTH = 0x0fff;

/** Caches that git makes again at will: cache tree, untracked files, monitor, offsets. */
const CACHES: ReadonlySet<string> = new Set(['TREE', 'UNTR', 'FSMN', 'EOIE', 'IEOT']);

class IndexReader {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  readonly #idBytes: number;
  #at = 0;

  constructor(bytes: Uint8Array, idBytes: number) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#idBytes = idBytes;
  }

  read(): GitIndex {
    if (this.#text(0, 4) !== 'DIRC') throw new RangeError('it is no index');
    const version = this.#view.getUint32(4);
    if (version < 2 || version > 4) throw new RangeError('its version is not known');
    const count = this.#view.getUint32(8);
    this.#at = HEADER_BYTES;
    const entries: IndexEntry[] = [];
    let previous = '';
    for (let i = 0; i < count; i++) {
      const entry = this.#entry(version, previous);
      entries.push(entry);
      previous = entry.path;
    }
    return { entries, extensions: this.#extensions() };
  }

  #entry(version: number, previous: ByteString): IndexEntry {
    const start = this.#at;
    const mode = this.#view.getUint32(start + MODE_OFFSET);
    const id = Buffer.from(this.#slice(start + STAT_BYTES, this.#idBytes)).toString('hex');
    this.#at = start + STAT_BYTES + this.#idBytes;
    const flags = this.#take16();
    // Only a version 3 or 4 entry has more flags: skip-worktree, intent-to-add.
    const extended = (flags & EXTENDED) === 0 ? 0 : this.#take16();
    if (extended !== 0 && version < 3) throw new RangeError('an entry has flags it cannot have');
    const path = version === 4 ? this.#compressedName(previous) : this.#name(start, flags);
    if (path === '') throw new RangeError('an entry has no name');
    const content = `${mode.toString(8)} ${id} ${flags & ASSUME_VALID} ${extended}`;
    return { path, stage: (flags >> 12) & 3, content };
  }

  /** A name up to its NUL, then NULs up to a multiple of eight bytes from the entry's start. */
  #name(start: number, flags: number): ByteString {
    const name = this.#untilNul();
    const told = flags & NAME_LENGTH;
    if (told !== NAME_LENGTH && told !== name.length) throw new RangeError('a name is cut off');
    const end = start + (((this.#at - start + 7) >> 3) << 3);
    for (; this.#at < end; this.#at++) {
      if (this.#view.getUint8(this.#at) !== 0) throw new RangeError('an entry is not padded');
    }
    return name;
  }

  /** Version 4: how many bytes of the name before go, then what comes instead. */
  #compressedName(previous: ByteString): ByteString {
    let byte = this.#take8();
    let strip = byte & 0x7f;
    while ((byte & 0x80) !== 0) {
      byte = this.#take8();
      strip = (strip + 1) * 128 + (byte & 0x7f);
      if (strip > previous.length) break;
    }
    if (strip > previous.length) throw new RangeError('a name takes too much from the one before');
    return previous.slice(0, previous.length - strip) + this.#untilNul();
  }

  /** What lies between the entries and the checksum; an extension in small letters must be known. */
  #extensions(): ByteString[] {
    const end = this.#bytes.length - this.#idBytes;
    const kept: ByteString[] = [];
    while (this.#at < end) {
      const signature = this.#text(this.#at, 4);
      const length = this.#view.getUint32(this.#at + 4);
      if (!/^[A-Z]{4}$/.test(signature)) throw new RangeError('an extension is not known');
      if (this.#at + 8 + length > end) throw new RangeError('an extension is cut off');
      if (!CACHES.has(signature)) kept.push(this.#text(this.#at, 8 + length));
      this.#at += 8 + length;
    }
    if (this.#at !== end) throw new RangeError('it does not end with its checksum');
    return kept;
  }

  #take8(): number {
    return this.#view.getUint8(this.#at++);
  }

  #take16(): number {
    this.#at += 2;
    return this.#view.getUint16(this.#at - 2);
  }

  #untilNul(): ByteString {
    const nul = this.#bytes.indexOf(0, this.#at);
    if (nul < 0) throw new RangeError('a name does not end');
    const name = this.#text(this.#at, nul - this.#at);
    this.#at = nul + 1;
    return name;
  }

  #text(start: number, length: number): ByteString {
    return Buffer.from(this.#slice(start, length)).toString('latin1');
  }

  #slice(start: number, length: number): Uint8Array {
    if (start + length > this.#bytes.length) throw new RangeError('it is cut off');
    return this.#bytes.subarray(start, start + length);
  }
}
