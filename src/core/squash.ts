import type { Change } from './change.js';
import { type Image, sameImage } from './image.js';
import { comparePaths, type RelPath } from './relpath.js';

/** Names an interval of the history: a step of a turn, or a rewind or redo of one. */
export type IntervalName = {
  readonly kind: 'step' | 'rewind' | 'redo';
  readonly turn: string;
  readonly step: number;
};

/** Between two intervals somebody else changed a path: one left it so, the next found it so. */
export type ForeignEdit = {
  readonly after: IntervalName;
  readonly left: Image;
  readonly before: IntervalName;
  readonly found: Image;
};

/** A change over several intervals: the first and the last of them that touched the path. */
export type SquashedChange = Change & {
  readonly first: IntervalName;
  readonly last: IntervalName;
  /** Oldest first; empty where each interval started from what the one before it had left. */
  readonly foreign: readonly ForeignEdit[];
};

/** Changes by path, at most one a path. */
export type Squash = ReadonlyMap<RelPath, SquashedChange>;

/** The squash of no interval at all. */
export const EMPTY_SQUASH: Squash = new Map();

/** Takes one interval's changes as a squash. */
export function squashOf(changes: Iterable<Change>, by: IntervalName): Squash {
  const out = new Map<RelPath, SquashedChange>();
  for (const change of changes) out.set(change.path, changeOf(change, by));
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
  readonly by: IntervalName;
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
  for (const { by, opened, closed, changes, carries } of intervals) {
    for (const change of changes) {
      const { path } = change;
      const first = out.get(path);
      const until = closedAt.get(path) ?? 0;
      if (carries) {
        if (first === undefined || !sameImage(first.after, change.before)) continue;
        out.set(path, { ...first, after: change.after, last: by });
      } else if (first === undefined) {
        out.set(path, changeOf(change, by));
      } else if (opened > until) {
        out.set(path, link(first, changeOf(change, by)));
      } else if (closed > until) {
        out.set(path, { ...first, after: change.after, last: by });
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

const NOBODY: readonly ForeignEdit[] = [];

function changeOf({ path, before, after }: Change, by: IntervalName): SquashedChange {
  return { path, before, after, first: by, last: by, foreign: NOBODY };
}

function link(older: SquashedChange, newer: SquashedChange): SquashedChange {
  const { path, before, first } = older;
  const { after, last } = newer;
  return { path, before, after, first, last, foreign: foreignIn(older, newer) };
}

function foreignIn(older: SquashedChange, newer: SquashedChange): readonly ForeignEdit[] {
  const between = sameImage(older.after, newer.before)
    ? NOBODY
    : [{ after: older.last, left: older.after, before: newer.first, found: newer.before }];
  // Most paths have none: no array is made for them.
  if (older.foreign.length + between.length + newer.foreign.length === 0) return NOBODY;
  return [...older.foreign, ...between, ...newer.foreign];
}
