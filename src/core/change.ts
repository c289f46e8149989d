import { changedNames } from './attributes.js';
import { attributesOf, type Image, sameBytes, sameImage } from './image.js';
import type { RelPath } from './relpath.js';

/** One path that differs between two moments: the noun that flows through everything. */
export type Change = { readonly path: RelPath; readonly before: Image; readonly after: Image };

/** How a change reads to a person; `unknown` where one side was not captured. */
export type ChangeKind = 'created' | 'modified' | 'deleted' | 'type' | 'metadata' | 'unknown';

/** How many changes there are of each kind. */
export type ChangeCounts = { readonly [kind in ChangeKind]: number };

/** Says what kind of change this is. */
export function changeKind(change: Pick<Change, 'before' | 'after'>): ChangeKind {
  const { before, after } = change;
  if (before.kind === 'skipped' || after.kind === 'skipped') return 'unknown';
  if (before.kind === 'absent') return 'created';
  if (after.kind === 'absent') return 'deleted';
  if (before.type !== after.type) return 'type';
  return sameBytes(before, after) ? 'metadata' : 'modified';
}

/** Names the attributes that differ, where they are known on both sides. */
export function changedAttributes({ before, after }: Pick<Change, 'before' | 'after'>): string[] {
  const [from, to] = [attributesOf(before), attributesOf(after)];
  return from === undefined || to === undefined ? [] : changedNames(from, to);
}

/** Why nothing is done where {@link mayBeEither}. */
export const NOT_SEEN = 'its attributes changed, and they cannot be looked at now';

/** Reports whether an image may be both of a change's: its attributes are not known, and only they differ. */
export function mayBeEither(
  image: Image,
  { before, after }: Pick<Change, 'before' | 'after'>,
): boolean {
  if (sameImage(before, after)) return false;
  return sameImage(image, before) && sameImage(image, after);
}

/** Counts changes by kind. */
export function countChanges(changes: Iterable<Change>): ChangeCounts {
  const counts = { created: 0, modified: 0, deleted: 0, type: 0, metadata: 0, unknown: 0 };
  for (const change of changes) counts[changeKind(change)] += 1;
  return counts;
}

/** Reports whether a change is none: written and put back within the interval. */
export function isNoChange(change: Pick<Change, 'before' | 'after'>): boolean {
  return sameImage(change.before, change.after);
}
