import type { History } from '../core/history.js';
import { isPidInUse } from '../files/process-identity.js';
import type { StoreLayout } from '../store/layout.js';
import { type Lease, listLeases } from './control.js';

/** Lists the leases that count: of open steps, and of processes that are alive. */
export function liveLeases(layout: StoreLayout, history: History): Lease[] {
  const open = openTokens(history);
  return listLeases(layout).filter(({ token, pid }) => open.has(token) || isPidInUse(pid));
}

/** Names the control directories of the steps that are open. */
export function openTokens({ steps }: History): Set<string> {
  return new Set(
    steps.flatMap((step) =>
      step.kind === 'work' && step.end.kind === 'open' ? [step.open.control] : [],
    ),
  );
}
