import type { Outcome, OutcomeKind } from './outcome.js';
import type { PlannedChange } from './planned.js';

/** What is decided for one path. */
export type Verdict =
  | { readonly kind: 'act'; readonly change: PlannedChange }
  | { readonly kind: 'settled'; readonly outcome: Omit<Outcome, 'path'> };

/** Decides that nothing is done, and what to say of it. */
export function settle(outcome: OutcomeKind, reason: string): Verdict {
  return { kind: 'settled', outcome: { outcome, reason } };
}
