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
 * Composes two squashes that follow one another, the older first: the oldest pre-image and the newest
 * post-image win.
 *
 * Associative, with {@link EMPTY_SQUASH} as its neutral element. A change that was put back stays in
 * the result, for dropping it would lose what links the intervals; whoever prints drops it.
 */
export function compose(older: Squash, newer: Squash): Squash {
  const out = new Map(older);
  for (const [path, change] of newer) {
    const first = older.get(path);
    out.set(path, first === undefined ? change : link(first, change));
  }
  return out;
}

/** What changed from one line of the log to another. */
export type Interval = {
  readonly opened: number;
  readonly closed: number;
  readonly changes: Iterable<Change>;
  /**
   * It only carries on what is there: an interval of a rewind adds no path of its own, and where it
   * does not start from what was left, it is as if it had not been.
   */
  readonly carries: boolean;
};

/**
 * Composes the changes of intervals, in the order in which they opened.
 *
 * Intervals that overlap share what happened in both, so neither finds a stranger in the other: the
 * one that opened first has the pre-image, the one that closed last the post-image.
 */
export function squash(intervals: Iterable<Interval>): Squash {
  const out = new Map<RelPath, SquashedChange>();
  const closedAt = new Map<RelPath, number>();
  for (const { opened, closed, changes, carries } of intervals) {
    for (const change of changes) {
      const { path } = change;
      const first = out.get(path);
      const until = closedAt.get(path) ?? 0;
      if (carries) {
        if (first === undefined || !sameImage(first.after, change.before)) continue;
        out.set(path, { ...first, after: change.after });
      } else if (first === undefined) {
        out.set(path, { ...change, foreign: false });
      } else if (opened > until) {
        out.set(path, link(first, { ...change, foreign: false }));
      } else if (closed > until) {
        out.set(path, { ...first, after: change.after });
      }
      if (!carries) closedAt.set(path, Math.max(until, closed));
    }
  }
  return out;
}

/** Lists a squash in the order of a walk. */
export function inPathOrder(squashed: Squash): SquashedChange[] {
  return [...squashed.values()].sort((a, b) => comparePaths(a.path, b.path));
}

function link(older: SquashedChange, newer: SquashedChange): SquashedChange {
  const foreign = older.foreign || newer.foreign || !sameImage(older.after, newer.before);
  return { path: older.path, before: older.before, after: newer.after, foreign };
}
