import type { Sha256 } from '../core/image.js';

/** A file that is to be read by somebody else; the path as Node's file system takes it. */
export type ReadJob = { readonly id: number; readonly path: string };

/** What came of it; `stamp` is `''` where it could not be read whole: then it must be read here. */
export type ReadElsewhere = {
  readonly id: number;
  readonly stamp: string;
  readonly sha256: Sha256;
};

/** Somebody who reads and stores files while the walk goes on. */
export type Readers = {
  /** Takes a file, or says false: then it must be read here. */
  readonly offer: (job: ReadJob) => boolean;
  /** Gives what came of files since; `all` waits for all that were taken. */
  readonly collect: (which: 'done' | 'all') => readonly ReadElsewhere[];
};
