import { printableText } from '../core/printable.js';
import type { Backend } from './watcher.js';

/** The largest number of events in a step that still counts as a whole: queues overflow unseen. */
export const MAX_EVENTS = 10_000;

/** What became of the step's watcher. */
export type WatcherFate =
  | { readonly kind: 'watched'; readonly backend: Backend }
  | { readonly kind: 'scan-only'; readonly reason: string }
  | { readonly kind: 'died'; readonly reason: string };

/** What there is to judge a timeline by. */
export type TimelineEvidence = {
  readonly watcher: WatcherFate;
  /** Whether it was watching before the command started. */
  readonly ready: boolean;
  /** What was told as trouble, in the order in which it came. */
  readonly troubles: readonly string[];
  /** Whether the cookie that was written at close came back in time. */
  readonly cookieSeen: boolean;
  /** How many events were told in the step. */
  readonly eventCount: number;
  /** Paths that the scan found changed and that no event covers. */
  readonly uncovered: readonly string[];
};

/** Whether the timeline may be shown as a whole; the reason has no full stop. */
export type TimelineJudgement =
  | { readonly complete: true }
  | { readonly complete: false; readonly reason: string };

/**
 * Judges whether a step's timeline is complete, and gives the reason nearest to the cause if not.
 *
 * It never alters the list of changes. `complete` means that nothing speaks against it: a backend can
 * lose an event without a trace, and never tells what came and went within one of its batches.
 */
export function judgeTimeline(evidence: TimelineEvidence): TimelineJudgement {
  const reason = whyIncomplete(evidence);
  return reason === undefined ? { complete: true } : { complete: false, reason };
}

function whyIncomplete(evidence: TimelineEvidence): string | undefined {
  const { watcher, troubles, eventCount, uncovered } = evidence;
  switch (watcher.kind) {
    case 'scan-only':
      return `nothing watched: ${printableText(watcher.reason)}`;
    case 'died':
      return `the watcher ended early: ${printableText(watcher.reason)}`;
    case 'watched':
      break;
  }
  const [trouble] = troubles;
  if (trouble !== undefined) return printableText(trouble).replace(/\.$/, '');
  if (!evidence.ready) return 'the command started before the watcher was ready';
  if (!evidence.cookieSeen) return 'the watcher did not answer at the end of the step';
  if (eventCount > MAX_EVENTS) return `${eventCount} events, more than ${MAX_EVENTS}`;
  const [path] = uncovered;
  if (path === undefined) return undefined;
  const shown = path === '' ? '.' : printableText(path);
  const others = uncovered.length === 1 ? '' : ` and ${uncovered.length - 1} more`;
  return `the scan found a change that no event tells of: ${shown}${others}`;
}
