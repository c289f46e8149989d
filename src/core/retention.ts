import {
  closedLine,
  type History,
  newestFirst,
  openedAt,
  type Step,
  type Turn,
} from './history.js';
import type { EarlierChain, PrunedRecord } from './pruned-record.js';
import { numberOfTurn } from './turn-id.js';

/** How much history is kept; 0 is no limit. What passes one of the limits goes, oldest turns first. */
export type Retention = {
  /** Turns. */
  readonly keep: number;
  /** Milliseconds since a turn was last closed. */
  readonly olderThan: number;
  /** Bytes that the history takes in the store, beside the one copy of the workspace as it stands. */
  readonly maxSize: number;
};

const DAY_MS = 24 * 60 * 60 * 1000;

/** What is kept when nobody says anything: 200 turns, 30 days, 5 GB. */
export const DEFAULT_RETENTION: Retention = {
  keep: 200,
  olderThan: 30 * DAY_MS,
  maxSize: 5 * 1024 ** 3,
};

/** No limit at all. */
export const KEEP_ALL: Retention = { keep: 0, olderThan: 0, maxSize: 0 };

/**
 * Widens limits by a tenth: the automatic prune starts only there and then goes down to the limit, so
 * that it does not run after every close.
 */
export function withSlack({ keep, olderThan, maxSize }: Retention): Retention {
  const widen = (limit: number): number => limit + Math.floor(limit / 10);
  return { keep: widen(keep), olderThan: widen(olderThan), maxSize: widen(maxSize) };
}

/** A place in the log: what lies before it goes, whole. */
export type Cut = {
  /** The first line that stays. */
  readonly line: number;
  /** Turns that go, oldest first. */
  readonly turns: readonly string[];
  /** How many steps go, rewinds included. */
  readonly steps: number;
};

/** What a choice of turns depends on beside the history. */
export type RetentionFacts = {
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Gives the bytes that the history would take if only what opened at this line or later stayed. */
  readonly sizeFrom: (line: number) => number;
};

/**
 * Chooses where the log is cut. Only oldest turns go; the newest stays, and so does every turn that
 * has an open step, a step behind the cut, or a step that overlaps one behind it: a rewind of what
 * stays comes to the same as before.
 */
export function chooseCut(history: History, retention: Retention, facts: RetentionFacts): Cut {
  const turns = newestFirst(history).reverse();
  const last = turns.length - 1;
  let drop = 0;
  if (retention.keep > 0) drop = Math.max(drop, turns.length - retention.keep);
  if (retention.olderThan > 0) {
    const limit = facts.now - retention.olderThan;
    const young = turns.findIndex((turn) => lastActivity(turn) >= limit);
    drop = Math.max(drop, young < 0 ? turns.length : young);
  }
  drop = Math.min(drop, last);
  if (retention.maxSize > 0) {
    // The more goes, the smaller is what stays: halve the way to the least that must go.
    for (let most = last; drop < most; ) {
      const middle = Math.floor((drop + most) / 2);
      if (facts.sizeFrom(lineFor(history, turns, middle)) > retention.maxSize) drop = middle + 1;
      else most = middle;
    }
  }
  return cutAt(history, drop <= 0 ? 0 : lineFor(history, turns, drop));
}

/** What the first line remembers of a cut beside the history. */
export type Dropped = {
  readonly cut: Cut;
  /** Hash of the log's last line now. */
  readonly head: string;
  readonly at: string;
  readonly earlier: readonly EarlierChain[];
};

/** Makes the first line of a log of which all lines before a cut go. */
export function prunedRecord(history: History, dropped: Dropped): PrunedRecord {
  const { cut, head, at, earlier } = dropped;
  const { pruned } = history;
  const gone = history.steps.filter((step) => step.opened < cut.line);
  return {
    type: 'pruned',
    at,
    head,
    lastStep: Math.max(pruned.lastStep, ...gone.map(({ id }) => id)),
    lastTurn: Math.max(pruned.lastTurn, ...cut.turns.map(numberOfTurn)),
    turns: pruned.turns + cut.turns.length,
    steps: pruned.steps + gone.length,
    earlier: [...earlier],
  };
}

function cutAt(history: History, line: number): Cut {
  const gone = history.steps.filter((step) => step.opened < line);
  const turns = new Set(gone.flatMap((step) => (step.kind === 'work' ? [step.open.turn] : [])));
  return { line, turns: [...turns], steps: gone.length };
}

/** Finds the line from which on no turn and no interval is cut apart if so many oldest turns go. */
function lineFor(history: History, turns: readonly Turn[], drop: number): number {
  const first = turns[drop];
  if (first === undefined) return 0;
  for (let line = openedAt(first.steps); ; ) {
    let earlier = line;
    for (const step of history.steps) {
      if (step.opened < line && mustStay(history, step, line)) {
        earlier = Math.min(earlier, beginning(history, step));
      }
    }
    if (earlier === line) return line;
    line = earlier;
  }
}

function mustStay(history: History, step: Step, line: number): boolean {
  if (closedLine(step) >= line) return true;
  if (step.kind === 'rewind') return false;
  const newest = history.turns.get(step.open.turn)?.steps.at(-1);
  return newest !== undefined && newest.opened >= line;
}

function beginning(history: History, step: Step): number {
  if (step.kind === 'rewind') return step.opened;
  return history.turns.get(step.open.turn)?.steps[0]?.opened ?? step.opened;
}

/** Gives the moment of a turn's last opening or closing, in milliseconds since the epoch. */
export function lastActivity({ steps }: Turn): number {
  return Math.max(
    ...steps.map(({ open, end }) => Date.parse(end.kind === 'closed' ? end.record.at : open.at)),
  );
}
