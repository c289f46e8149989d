import fs from 'node:fs';
import { join } from 'node:path';
import { isErrno } from '../core/problem.js';
import { isPidInUse } from '../files/process-identity.js';
import { UPKEEP, withFreeLock } from '../store/lock.js';
import { sealAbandoned } from './abandoned.js';
import { controlOf, listLeases, removeControl } from './control.js';
import { openTokens } from './leases.js';
import type { Workspace } from './workspace.js';

/**
 * Removes what dead processes have left: temporary files, drafts of locks, control directories, packs
 * without an end. Says
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
    // RACE: a repack writes a pack as well, under this lock and without a lease.
    withFreeLock(locks, UPKEEP, () => {
      sealAbandoned(workspace);
    });
  } catch (error) {
    if (!isErrno(error, 'EACCES', 'EPERM', 'EROFS', 'EIO', 'ENOENT', 'ENOTEMPTY', ...FULL))
      throw error;
  }
}

const FULL = ['ENOSPC', 'EDQUOT'] as const;

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
