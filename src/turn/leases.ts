import fs from 'node:fs';
import { join } from 'node:path';
import type { History } from '../core/history.js';
import { isErrno } from '../core/problem.js';
import { isPidInUse } from '../files/process-identity.js';
import type { StoreLayout } from '../store/layout.js';
import { controlOf, type Lease, listLeases, removeControl } from './control.js';
import type { Workspace } from './workspace.js';

/** Lists the leases that count: of open steps, and of processes that are alive. */
export function liveLeases(layout: StoreLayout, history: History): Lease[] {
  const open = openTokens(history);
  return listLeases(layout).filter(({ token, pid }) => open.has(token) || isPidInUse(pid));
}

/**
 * Removes what dead processes have left: temporary files, drafts of locks, control directories. Says
 * nothing where that fails: whatever is in the way is in the way of the next step as well, and is told
 * there.
 */
export function sweepLeftovers(workspace: Workspace): void {
  const { layout } = workspace;
  try {
    const dead = listLeases(layout).filter(({ pid }) => !isPidInUse(pid));
    if (dead.length > 0) {
      // The log is read after the deaths were seen: what a process had opened before stands in it.
      const open = openTokens(workspace.readLog().history);
      for (const { token } of dead) {
        if (!open.has(token)) removeControl(controlOf(layout, token));
      }
    }
    const { directory, packs, manifests, details, big, locks } = layout;
    for (const place of [directory, packs, manifests, details, big, locks]) removeDrafts(place);
  } catch (error) {
    if (!isErrno(error, 'EACCES', 'EPERM', 'EROFS', 'EIO', 'ENOENT', 'ENOTEMPTY')) throw error;
  }
}

/** Names the control directories of the steps that are open. */
function openTokens({ steps }: History): Set<string> {
  return new Set(
    steps.flatMap((step) =>
      step.kind === 'work' && step.end.kind === 'open' ? [step.open.control] : [],
    ),
  );
}

/**
 * `<name>.<pid>-<random>.tmp` and `<pid>-<random>.tmp` of files that are written beside their place,
 * `<lock>.<pid>` and `<lock>.<pid>.dead` of locks.
 */
const DRAFT = /(?:^|\.)(\d+)(?:-[0-9a-z]+\.tmp|\.dead)$|^[a-z]+\.(\d+)$/;

function removeDrafts(directory: string): void {
  let names: string[];
  try {
    names = fs.readdirSync(directory);
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return;
    throw error;
  }
  for (const name of names) {
    const match = DRAFT.exec(name);
    const pid = Number(match?.[1] ?? match?.[2] ?? 0);
    if (pid !== 0 && !isPidInUse(pid)) fs.rmSync(join(directory, name), { force: true });
  }
}
