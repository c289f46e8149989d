import { type Image, sameBytes, sameImage } from './image.js';
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
