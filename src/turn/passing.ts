import type { Change } from '../core/change.js';
import { type ByteString, toText } from '../core/relpath.js';
import { type PathHistory, reduceEvents } from '../watch/reduce.js';
import type { WatchEvent } from '../watch/watcher.js';

/** A path that a turn touched and that came out as it was: only the watcher knows of it. */
export type PassingPath = {
  readonly path: ByteString;
  /** Made and gone again, or written and the same again. */
  readonly how: 'came-and-went' | 'as-before';
};

/**
 * Finds what came and went inside a turn, and what was written and put back. Directories are left out
 * of the second: they are written to by whatever happens in them.
 */
export function findPassing(
  events: readonly WatchEvent[],
  changes: readonly Change[],
): PassingPath[] {
  const changed = new Set(changes.map(({ path }) => toText(path).text));
  const holds = new Set<string>();
  for (const { path } of events) {
    for (let slash = path.lastIndexOf('/'); slash >= 0; slash = path.lastIndexOf('/', slash - 1)) {
      holds.add(path.slice(0, slash));
    }
  }
  return reduceEvents(events)
    .filter(({ path }) => path !== '' && !changed.has(path))
    .flatMap((history): PassingPath[] => {
      const { path } = history;
      if (history.cameAndWent) return [{ path, how: 'came-and-went' }];
      return isAsBefore(history) && !holds.has(path) ? [{ path, how: 'as-before' }] : [];
    });
}

/** One that is gone now, and was no change, was not there before either: it came unseen. */
function isAsBefore({ last }: PathHistory): boolean {
  return last !== 'delete';
}
