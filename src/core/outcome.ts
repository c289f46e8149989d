import type { RelPath } from './relpath.js';
import type { ForeignEdit } from './squash.js';

/** How one path came out of a rewind. */
export type OutcomeKind = 'restored' | 'deleted' | 'unchanged' | 'conflict' | 'skipped' | 'failed';

/** One path's outcome; the reason is `''` where there is nothing to say. */
export type Outcome = {
  readonly path: RelPath;
  readonly outcome: OutcomeKind;
  readonly reason: string;
  /** For a conflict: where, between which steps, somebody else changed the path. */
  readonly foreign?: readonly ForeignEdit[];
};
