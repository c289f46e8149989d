import type { Content } from './image.js';
import type { PlanRequest } from './plan-request.js';
import type { PlannedChange } from './planned.js';
import { isDirectory } from './planned.js';
import { printable } from './printable.js';
import { comparePaths, joinPath, parentOf, type RelPath } from './relpath.js';
import { settle, type Verdict } from './verdict.js';

/** A path can be made only in a directory that stands or is made: from the root down. */
export function requireParents(verdicts: Map<RelPath, Verdict>, request: PlanRequest): void {
  for (const path of [...verdicts.keys()].sort(comparePaths)) {
    const verdict = verdicts.get(path);
    if (verdict?.kind !== 'act' || verdict.change.to.kind === 'absent' || path === '') continue;
    const parent = verdicts.get(parentOf(path));
    if (parent?.kind === 'act' && isDirectory(parent.change.to)) continue;
    const state = request.disk.get(path)?.parent ?? { kind: 'directory' };
    if (state.kind === 'directory') continue;
    const missing = state.kind === 'missing' ? directoriesBetween(state.first, path) : [];
    const by = state.kind === 'blocked' ? state.by : firstTaken(verdicts, missing);
    if (by !== 'none') {
      verdicts.set(path, settle('conflict', `${printable(by)} is no directory any more`));
    } else if (state.kind === 'missing' && request.force) {
      addMissing(verdicts, missing, verdict.change.to);
    } else {
      verdicts.set(path, settle('conflict', 'its directory was deleted after the turn'));
    }
  }
}

/** Finds a missing directory in whose place something else is put back. */
function firstTaken(
  verdicts: ReadonlyMap<RelPath, Verdict>,
  ancestors: readonly RelPath[],
): RelPath | 'none' {
  const taken = ancestors.find((path) => {
    const verdict = verdicts.get(path);
    return verdict?.kind === 'act' && !isDirectory(verdict.change.to);
  });
  return taken ?? 'none';
}

/**
 * A directory can go only if all that is in it goes and nothing is put back into it: from the deepest
 * up.
 */
export function keepFullDirectories(verdicts: Map<RelPath, Verdict>, { disk }: PlanRequest): void {
  const needed = new Set<RelPath>();
  for (const path of [...verdicts.keys()].sort(comparePaths).reverse()) {
    const verdict = verdicts.get(path);
    if (verdict?.kind !== 'act') continue;
    const { from, to } = verdict.change;
    if (to.kind !== 'absent') needed.add(parentOf(path));
    if (!isDirectory(from) || isDirectory(to)) continue;
    const entries = disk.get(path)?.entries ?? 'unknown';
    if (entries === 'unknown') {
      verdicts.set(path, settle('failed', 'what is in it cannot be listed'));
      continue;
    }
    const stays = entries.filter((name) => {
      const entry = verdicts.get(joinPath(path, name));
      return entry?.kind !== 'act' || entry.change.to.kind !== 'absent';
    });
    if (stays.length > 0) {
      const more = stays.length === 1 ? '' : ` and ${stays.length - 1} more`;
      const [first = ''] = stays;
      verdicts.set(path, settle('conflict', `it is not empty: ${printable(first)}${more}`));
    } else if (needed.has(path)) {
      verdicts.set(path, settle('conflict', 'something is put back into it'));
    }
  }
}

/** Makes directories that nobody recorded as changed, owned like what is put back into them. */
function addMissing(
  verdicts: Map<RelPath, Verdict>,
  ancestors: readonly RelPath[],
  { uid, gid }: Content,
): void {
  for (const path of ancestors) {
    if (verdicts.get(path)?.kind === 'act') continue;
    const to: Content = { kind: 'content', type: 'directory', mode: 0o755, uid, gid };
    const change: PlannedChange = { path, from: { kind: 'absent' }, to, stamp: '', links: 1 };
    verdicts.set(path, { kind: 'act', change });
  }
}

/** Lists the directories from the topmost of them down to the one that holds a path. */
function directoriesBetween(first: RelPath, path: RelPath): RelPath[] {
  const found: RelPath[] = [];
  for (let at = parentOf(path); at !== first && at !== ''; at = parentOf(at)) found.unshift(at);
  return [first, ...found];
}
