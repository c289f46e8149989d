import type { Change } from './change.js';
import { type Image, sameImage } from './image.js';
import { comparePaths, type RelPath } from './relpath.js';

/** Names an interval of the history: a step of a turn, or a rewind or redo of one. */
export type IntervalName = {
  readonly kind: 'step' | 'rewind' | 'redo';
  readonly turn: string;
  readonly step: number;
};

/** What changed in one interval. */
export type Interval = { readonly by: IntervalName; readonly changes: Iterable<Change> };

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
export function squashOf({ by, changes }: Interval): Squash {
  const out = new Map<RelPath, SquashedChange>();
  for (const { path, before, after } of changes) {
    out.set(path, { path, before, after, first: by, last: by, foreign: NOBODY });
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
    const earlier = older.get(path);
    out.set(path, earlier === undefined ? change : link(earlier, change));
  }
  return out;
}

/** Composes the changes of many intervals, oldest first. */
export function squash(intervals: Iterable<Interval>): Squash {
  let out = EMPTY_SQUASH;
  for (const interval of intervals) out = compose(out, squashOf(interval));
  return out;
}

/** Lists a squash in the order of a walk. */
export function inPathOrder(squashed: Squash): SquashedChange[] {
  return [...squashed.values()].sort((a, b) => comparePaths(a.path, b.path));
}

const NOBODY: readonly ForeignEdit[] = [];

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
