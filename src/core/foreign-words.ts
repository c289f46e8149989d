import type { ForeignEdit, IntervalName } from './squash.js';

/** Says between which turns somebody else changed a path: `between turns t1 and t3`. */
export function betweenWords(foreign: readonly Pick<ForeignEdit, 'after' | 'before'>[]): string {
  return foreign.map(({ after, before }) => `between ${pairWords(after, before)}`).join(' and ');
}

function pairWords(after: IntervalName, before: IntervalName): string {
  if (after.kind === 'step' && before.kind === 'step') {
    return after.turn === before.turn
      ? `steps ${after.step} and ${before.step} of turn ${after.turn}`
      : `turns ${after.turn} and ${before.turn}`;
  }
  return `${nameWords(after)} and ${nameWords(before)}`;
}

function nameWords({ kind, turn }: IntervalName): string {
  switch (kind) {
    case 'step':
      return `turn ${turn}`;
    case 'rewind':
      return `the rewind of ${turn}`;
    case 'redo':
      return `the redo of ${turn}`;
  }
}
