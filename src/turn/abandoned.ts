import { openSteps } from '../core/history.js';
import { sealPack } from '../store/pack-contents.js';
import { isSealed } from '../store/pack-index.js';
import { listPacks } from '../store/pack-writer.js';
import { liveLeases } from './leases.js';
import type { Workspace } from './workspace.js';

/** Reports whether some process may be about to name something in the log, or a step is open. */
export function isAtWork(workspace: Workspace): boolean {
  const { history } = workspace.readLog();
  if (openSteps(history).length > 0) return true;
  return liveLeases(workspace.layout, history).length > 0;
}

/**
 * Ends the packs of writers that are dead; the caller holds the upkeep lock, under which repacks write.
 *
 * A pack without an index may have a writer at work. That has made its lease before its pack, so the
 * packs are listed first: where there is no lease after that, there is no writer.
 */
export function sealAbandoned(workspace: Workspace): void {
  const { packs } = workspace.layout;
  const unsealed = listPacks(packs).filter((number) => !isSealed(packs, number));
  if (unsealed.length === 0 || isAtWork(workspace)) return;
  for (const number of unsealed) sealPack(packs, number, { writer: 'dead' });
}
