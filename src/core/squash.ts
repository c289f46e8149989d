import type { Change } from './change.js';
import { sameImage } from './image.js';
import { comparePaths, type RelPath } from './relpath.js';

/**
 * A change over several intervals. `foreign` is true when somewhere between them an interval did
 * not start from what the one before it had left: somebody else changed the path in between.
 */
export type SquashedChange = Change & { readonly foreign: boolean };

/** Changes by path, at most one a path. */
export type Squash = ReadonlyMap<RelPath, SquashedChange>;

/** The squash of no interval at all. */
export const EMPTY_SQUASH: Squash = new Map();

/** Takes one interval's changes as a squash. */
export function squashOf(changes: Iterable<Change>): Squash {
  const out = new Map<RelPath, SquashedChange>();
  for (const { path, before, after } of changes) {
    out.set(path, { path, before, after, foreign: false });
  }
  return out;
}

/**
 * Composes two squashes, the older first: the oldest pre-image and the newest post-image win.
 *
 * Associative, with {@link EMPTY_SQUASH} as its neutral element. A change that was put back stays in
 * the result, for dropping it would lose what links the intervals; whoever prints drops it.
 */
export function compose(older: Squash, newer: Squash): Squash {
  const out = new Map(older);
  for (const [path, change] of newer) {
    const first = older.get(path);
    if (first === undefined) {
      out.set(path, change);
      continue;
    }
    const foreign = first.foreign || change.foreign || !sameImage(first.after, change.before);
    out.set(path, { path, before: first.before, after: change.after, foreign });
  }
  return out;
}

/** Composes the changes of many intervals, oldest first. */
export function squash(intervals: Iterable<Iterable<Change>>): Squash {
  let out = EMPTY_SQUASH;
  for (const changes of intervals) out = compose(out, squashOf(changes));
  return out;
}

/** Lists a squash in the order of a walk. */
export function inPathOrder(squashed: Squash): SquashedChange[] {
  return [...squashed.values()].sort((a, b) => comparePaths(a.path, b.path));
}
