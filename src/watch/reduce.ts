import type { WatchEvent, WatchEventKind } from './watcher.js';

/** What the events of one interval tell about one path. */
export type PathHistory = {
  readonly path: string;
  readonly first: WatchEventKind;
  readonly last: WatchEventKind;
  /** When the first and the last event was received, in milliseconds since the epoch. */
  readonly firstAt: number;
  readonly lastAt: number;
  /** How many events named the path; backends merge what follows each other within 50 ms. */
  readonly count: number;
  /**
   * First created and last deleted. Only the manifests tell whether the path was new: a file that was
   * there before, replaced by rename and then deleted, looks the same.
   */
  readonly cameAndWent: boolean;
};

/** Reduces events to one history a path, in the order in which the paths were first named. */
export function reduceEvents(events: Iterable<WatchEvent>): PathHistory[] {
  const spans = new Map<string, Span>();
  for (const { kind, path, at } of events) {
    const span = spans.get(path);
    if (span === undefined) {
      spans.set(path, { first: kind, last: kind, firstAt: at, lastAt: at, count: 1 });
    } else {
      span.last = kind;
      span.lastAt = at;
      span.count += 1;
    }
  }
  return Array.from(spans, ([path, span]) => ({
    path,
    ...span,
    cameAndWent: span.first === 'create' && span.last === 'delete',
  }));
}

/**
 * Makes the function that tells whether any event accounts for a change at a path: an event of the
 * path, or the creation, move or deletion of a directory above it, whose contents backends need not
 * name one by one.
 *
 * Paths are compared as text: ask with the same lossy form in which the events name them.
 */
export function coveredBy(events: Iterable<WatchEvent>): (path: string) => boolean {
  const named = new Set<string>();
  const cameOrWent = new Set<string>();
  for (const { kind, path } of events) {
    named.add(path);
    if (kind !== 'update') cameOrWent.add(path);
  }
  const below = new Map<string, boolean>();
  // Remembered for each directory: a deep tree would be climbed again for every path in it.
  const isBelow = (dir: string | undefined): boolean => {
    const climbed: string[] = [];
    let at = dir;
    let covered = false;
    while (at !== undefined && !covered) {
      const known = below.get(at);
      if (known !== undefined) {
        covered = known;
        break;
      }
      climbed.push(at);
      covered = cameOrWent.has(at);
      at = parentOf(at);
    }
    for (const each of climbed) below.set(each, covered);
    return covered;
  };
  return (path) => named.has(path) || isBelow(parentOf(path));
}

type Span = {
  readonly first: WatchEventKind;
  last: WatchEventKind;
  readonly firstAt: number;
  lastAt: number;
  count: number;
};

/** The directory above, `''` for what lies in the root, nothing above the root. */
function parentOf(path: string): string | undefined {
  if (path === '') return undefined;
  const slash = path.lastIndexOf('/');
  return slash === -1 ? '' : path.slice(0, slash);
}
