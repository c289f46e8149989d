import type { FileImage, Image } from './image.js';
import type { ByteString, RelPath } from './relpath.js';
import type { SquashedChange } from './squash.js';

/** What stands at a path when a rewind is planned. */
export type DiskState = {
  readonly image: Image;
  /** Stat key as text, to be compared right before the write; `''` where nothing stands. */
  readonly stamp: string;
  /** How many names the file has; 1 for all else. */
  readonly links: number;
  /** Names in it, where it is a directory; `unknown` where it cannot be listed. */
  readonly entries: readonly ByteString[] | 'unknown';
  readonly parent: ParentState;
};

/** Whether the directory of a path can hold it. */
type ParentState =
  | { readonly kind: 'directory' }
  /** Directories above it are not there; this is the topmost of them. */
  | { readonly kind: 'missing'; readonly first: RelPath }
  /** Something that is no directory stands in the way. */
  | { readonly kind: 'blocked'; readonly by: RelPath };

/** A file with what was edited since in it, and what to say of that; or why there is none. */
export type Merged =
  | { readonly kind: 'clean'; readonly image: FileImage; readonly words: string }
  | { readonly kind: 'none'; readonly reason: string };

/** What a rewind's plan decides from. */
export type PlanRequest = {
  readonly squashed: readonly SquashedChange[];
  readonly disk: ReadonlyMap<RelPath, DiskState>;
  /** Paths that a concurrent turn changed as well, with that turn's id. */
  readonly contested: ReadonlyMap<RelPath, string>;
  /** As what some paths count although other bytes stand there: git writes its index as it likes. */
  readonly seenAs: ReadonlyMap<RelPath, Image>;
  /** Paths that were edited since, merged. */
  readonly merged: ReadonlyMap<RelPath, Merged>;
  /** Each `.git` that somebody may have used since, with what in it may be needed and so stays. */
  readonly inUse: ReadonlyMap<RelPath, 'objects' | 'all'>;
  /** Paths that the system would refuse to change, with why. */
  readonly hindered: ReadonlyMap<RelPath, string>;
  /** Puts back what is in conflict as well. */
  readonly force: boolean;
  /** Puts back `.git` as well. */
  readonly git: boolean;
};
