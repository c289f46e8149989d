import type { ByteString } from './relpath.js';

/** Types of entries as they stand in a manifest's column; `none` only for a root that is gone. */
export const ENTRY = { none: 0, file: 1, directory: 2, symlink: 3, other: 4, fifo: 5 } as const;

/** Facts about an entry as bits of a manifest's column. */
export const FLAG = {
  /** The hash may be believed as long as the stat key stands: see `core/trust.ts`. */
  trusted: 1,
  /** Not captured; the entry's text says why. */
  skipped: 2,
  /** What is in this directory is not known, so nothing below it is proven absent. */
  unlisted: 4,
  /** A file with more names than this one. */
  linked: 8,
  /** A file with holes; of what is skipped it says something else: {@link overBudget}. */
  sparse: 16,
  /** Skipped by a rule. */
  leftOut: 32,
  /** Skipped for its size. */
  tooLarge: 64,
  /** The store holds a name of its inode. */
  linkedInStore: 128,
  /** Skipped for want of time: the bit of holes, which nobody knows of what was not captured. */
  overBudget: 16,
} as const;

/** Fields of a stat key, in the order of a manifest's row of {@link KEY_FIELDS}. */
export const KEY = {
  dev: 0,
  ino: 1,
  mode: 2,
  uid: 3,
  gid: 4,
  size: 5,
  mtime: 6,
  ctime: 7,
} as const;

/** How many 64-bit fields a stat key has. */
export const KEY_FIELDS = 8;

/** Bytes of a SHA-256. */
export const HASH_BYTES = 32;

/**
 * The columns of a manifest: index 0 is the root, the entries of one directory stand side by side in
 * byte order of their names, and each directory names where its own begin.
 */
export type Columns = {
  readonly types: Uint8Array;
  readonly flags: Uint8Array;
  /** Eight signed 64-bit fields a row: device, inode, full mode, uid, gid, size, mtime, ctime (ns). */
  readonly keys: BigInt64Array;
  /** 32 bytes a row; zero where the entry is no captured file. */
  readonly hashes: Uint8Array;
  /** Index into the texts of a link's target, the reason of a skipped entry, or attributes; 0 for ''. */
  readonly texts: Uint32Array;
  readonly nameStarts: Uint32Array;
  readonly nameLengths: Uint16Array;
  readonly parents: Uint32Array;
  readonly childStarts: Uint32Array;
  readonly childCounts: Uint32Array;
  /** All names one after another. */
  readonly names: Uint8Array;
  /** All texts one after another; the text i ends where the text i + 1 starts. */
  readonly textBytes: Uint8Array;
  readonly textStarts: Uint32Array;
};

/** What a manifest says of itself. */
export type ManifestMeta = {
  /** Milliseconds since the epoch when its scan began. */
  readonly takenAt: number;
  readonly entries: number;
  readonly files: number;
  readonly bytes: number;
  /** Numbers of the packs that held its bytes when it was written. */
  readonly packs: readonly number[];
  /** Counts the scans of this workspace: chooses whose turn it is to be looked at again. */
  readonly round: number;
  /** Attributes were asked for; those of single entries may be {@link NOT_KNOWN} all the same. */
  readonly attributes: boolean;
  /** Where watchman stood before its scan began, in words of its own; `''` where it was not asked. */
  readonly clock: string;
};

/** Stands for attributes that could not be read; no attributes look like that. */
export const NOT_KNOWN = '?';

/** A stat key: signed 64-bit fields as `lstat` gives them with bigint, times in nanoseconds. */
export type StatKey = {
  readonly dev: bigint;
  readonly ino: bigint;
  readonly mode: bigint;
  readonly uid: bigint;
  readonly gid: bigint;
  readonly size: bigint;
  readonly mtimeNs: bigint;
  readonly ctimeNs: bigint;
};

/** One entry as a scan adds it; `text` is a link's target or the reason of a skipped entry. */
export type NewEntry = {
  readonly parent: number;
  readonly name: ByteString;
  readonly type: number;
  readonly flags: number;
  readonly key: StatKey;
  readonly text: ByteString;
};
