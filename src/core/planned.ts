import { type Absent, type Content, type Image, sameBytes, sameImage } from './image.js';
import type { RelPath } from './relpath.js';

/** One path that a rewind will change, from what stands there to what stood. */
export type PlannedChange = {
  readonly path: RelPath;
  readonly from: Image;
  readonly to: Absent | Content;
  /** Stat key as text, to be compared right before the write; `''` where nothing stands. */
  readonly stamp: string;
  /** How many names the file has; 1 for all else. */
  readonly links: number;
};

/** Reports whether an image is a directory. */
export function isDirectory(image: Image): boolean {
  return image.kind === 'content' && image.type === 'directory';
}

/** Reports whether only owner or permission bits of something that is no directory change. */
export function isMetadataOnly({ from, to }: PlannedChange): boolean {
  if (from.kind !== 'content' || to.kind !== 'content' || isDirectory(to)) return false;
  return sameBytes(from, to);
}

/** Reports whether what stands must go first: a rename only replaces what is no directory. */
export function needsRemoval({ from, to }: PlannedChange): boolean {
  if (from.kind === 'absent') return false;
  return to.kind === 'absent' || isDirectory(from) !== isDirectory(to);
}

/** Reports whether a directory must be made. */
export function isNewDirectory({ from, to }: PlannedChange): boolean {
  return isDirectory(to) && !isDirectory(from);
}

/**
 * Reports whether a planned change changes nothing in the end: a directory that its owner has closed
 * to itself is opened while the rewind works in it. It stands in the journal so that a crash in
 * between does not leave it open.
 */
export function isLoan({ from, to }: PlannedChange): boolean {
  return sameImage(from, to);
}
