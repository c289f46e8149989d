import type { ContentSink } from '../core/content-sink.js';
import type { Sha256 } from '../core/image.js';
import type { Manifest } from '../core/manifest.js';
import type { ByteString, RelPath } from '../core/relpath.js';
import type { Coverage } from '../core/rules.js';
import type { LargeKept } from '../files/large-kept.js';
import type { NativePath } from '../files/native-path.js';
import type { Stat } from '../files/stat.js';
import type { Readers } from './readers.js';

/** What a scan is asked. */
export type ScanRequest = {
  /** Absolute real path of the root. */
  readonly root: ByteString;
  /** The store's directory: never scanned, and where the clock is probed if the root cannot be. */
  readonly store: ByteString;
  readonly coverage: Coverage;
  readonly sink: ContentSink;
  /** Who reads and stores files beside the walk. */
  readonly readers: Readers | 'none';
  /** Keeps a file over the size limit by other means than a copy, if there are any. */
  readonly keepLarge: (path: NativePath, stat: Stat) => LargeKept;
  /** What was known before: its hashes are reused as far as they can be trusted. */
  readonly baseline: Manifest | 'none';
  /** Directories covered (or left out) in the baseline stay so, whatever marks came or went. */
  readonly keepCoverage: boolean;
  /** Hashes made while a command ran. */
  readonly early: ReadonlyMap<RelPath, EarlyHash>;
  /** What has changed since the baseline by the word of somebody who watched: see `told.ts`. */
  readonly told: ToldChanges | 'none';
  /** Where whoever watches stood before this scan, for the manifest; `''` where he was not asked. */
  readonly clock: string;
  /** Numbers this scan: chooses which trusted entries are hashed all the same, if any are. */
  readonly round: number;
  readonly spotChecks: boolean;
  /** How long it may take; at a close there is no such limit, for it copies only what changed. */
  readonly budget: Budget | 'none';
  /** Whether attributes are asked for where that can be done: it costs a program's start. */
  readonly attributes: 'ask' | 'leave';
  /** Gives the numbers of the packs, asked once the last content is in. */
  readonly packs: () => readonly number[];
  readonly onProgress: (progress: ScanProgress) => void;
};

/** A time after which what is not copied yet is left, and said. */
export type Budget = {
  readonly ms: number;
  /** A clock that only goes forward, in milliseconds. */
  readonly now: () => number;
  /** Makes durable what the sink has taken by now. */
  readonly sync: () => void;
};

/** What somebody who watched says has changed since the baseline's scan began. */
export type ToldChanges = {
  /** Paths below the root, those that are gone included. */
  readonly names: readonly ByteString[];
  /** Where he does not look: directories of these names, and at these paths below the root. */
  readonly blind: {
    readonly names: ReadonlySet<ByteString>;
    readonly paths: ReadonlySet<ByteString>;
  };
};

/** A hash made before the scan; it counts only if the file's stat key still stands. */
export type EarlyHash = {
  readonly stamp: string;
  readonly sha256: Sha256;
  /** Its ctime lay before the probe that was taken before it was read. */
  readonly settled: boolean;
};

/** How far a scan is. */
export type ScanProgress = {
  readonly entries: number;
  /** Files that are captured by now, and their bytes. */
  readonly files: number;
  readonly bytes: number;
  /** How many entries the last scan met. */
  readonly expected: number | 'unknown';
  /** Bytes that this scan has read. */
  readonly copied: number;
  /** What is still to be copied, where the scan knows it. */
  readonly rest: RestToCopy | 'unknown';
};

/** What a scan with a time budget still has to copy, and how many milliseconds are left for it. */
export type RestToCopy = { readonly files: number; readonly bytes: number; readonly ms: number };

/** How many files, and their bytes. */
export type FileSum = { readonly files: number; readonly bytes: number };

/** What came of a scan. */
export type ScanResult = {
  /** The baseline itself where nothing at all differs from it. */
  readonly manifest: Manifest;
  /** Faults that must be told: a trusted hash that was wrong. */
  readonly warnings: readonly string[];
  readonly hashedFiles: number;
  readonly hashedBytes: number;
  /** What was left for want of time. */
  readonly overBudget: FileSum;
  /** Attributes were read that the baseline does not know, so it cannot stand for the manifest. */
  readonly learned: boolean;
  /** Had changed and was not told, so that every file was looked at after all; else `''`. */
  readonly untold: RelPath | '';
};
