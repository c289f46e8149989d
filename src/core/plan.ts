import { mayBeEither, NOT_SEEN } from './change.js';
import { betweenWords } from './foreign-words.js';
import { gitDirectoryOf, isGitObject } from './git/paths.js';
import { hasStamp, type Image, isAsSkipped, sameImage } from './image.js';
import type { Outcome } from './outcome.js';
import { keepFullDirectories, requireParents } from './plan-directories.js';
import type { PlanRequest } from './plan-request.js';
import { isDirectory, type PlannedChange } from './planned.js';
import { comparePaths, isGitData, nameOf, type RelPath } from './relpath.js';
import type { SquashedChange } from './squash.js';
import { settle, type Verdict } from './verdict.js';

/** What a rewind will do, and what was settled without doing anything. Both in path order. */
export type Plan = {
  readonly changes: readonly PlannedChange[];
  readonly settled: readonly Outcome[];
  /** Paths of a repository's own data that differ and are left alone. */
  readonly gitLeftAlone: number;
};

/**
 * Decides for each path, from what stood before, what the undone steps left and what stands now:
 * equal to before → unchanged; equal to what was left and touched by nobody else → put back; else a
 * conflict. What was not captured is skipped; only what is proven absent is deleted.
 */
export function planRewind(request: PlanRequest): Plan {
  const verdicts = new Map<RelPath, Verdict>();
  let gitLeftAlone = 0;
  for (const change of request.squashed) {
    const verdict = unlessHindered(judge(change, request), request);
    if (!request.git && isRepositoryData(change, request.disk.get(change.path)?.image)) {
      if (verdict.kind === 'act') gitLeftAlone += 1;
      continue;
    }
    verdicts.set(change.path, verdict);
  }
  requireParents(verdicts, request);
  keepFullDirectories(verdicts, request);
  const changes: PlannedChange[] = [];
  const settled: Outcome[] = [];
  for (const path of [...verdicts.keys()].sort(comparePaths)) {
    const verdict = verdicts.get(path);
    if (verdict?.kind === 'act') changes.push(verdict.change);
    else if (verdict !== undefined) settled.push({ path, ...verdict.outcome });
  }
  return { changes, settled, gitLeftAlone };
}

/** Says how a planned change reads once it is done. */
export function outcomeOf(change: PlannedChange): Outcome {
  const outcome = change.to.kind === 'absent' ? 'deleted' : 'restored';
  return { path: change.path, outcome, reason: '' };
}

function unlessHindered(verdict: Verdict, { hindered }: PlanRequest): Verdict {
  const reason = verdict.kind === 'act' ? hindered.get(verdict.change.path) : undefined;
  return reason === undefined ? verdict : settle('failed', reason);
}

function judge(change: SquashedChange, request: PlanRequest): Verdict {
  const { path, before, after, foreign } = change;
  const disk = request.disk.get(path);
  if (disk === undefined) return settle('failed', 'it was not looked at');
  const now = request.seenAs.get(path) ?? disk.image;
  if (mayBeEither(now, change)) return settle('skipped', NOT_SEEN);
  if (sameImage(now, before)) return settle('unchanged', '');
  if (before.kind === 'skipped') {
    if (hasStamp(before, disk.stamp)) return settle('unchanged', '');
    return settle('skipped', before.reason);
  }
  if (after.kind === 'skipped' && (after.why === 'left-out' || isDirectory(now))) {
    return settle('skipped', after.reason);
  }
  const asLeft = after.kind === 'skipped' ? isAsSkipped(after, disk.stamp) : sameImage(now, after);
  // What cannot be read can be captured only where it is known to be ours: see `capture-from.ts`.
  if (now.kind === 'skipped' && !asLeft) return settle('failed', now.reason);
  const other = request.contested.get(path);
  if (other !== undefined && !request.force) {
    return settle('conflict', `turn ${other} changed it as well`);
  }
  const { image: from, stamp, links } = disk;
  if (!asLeft || foreign.length > 0) {
    const merged = request.merged.get(path);
    if (merged?.kind === 'clean') {
      if (sameImage(from, merged.image)) return settle('unchanged', '');
      return { kind: 'act', change: { path, from, to: merged.image, stamp, links } };
    }
    if (!request.force) {
      const words = asLeft
        ? `somebody else changed it ${betweenWords(foreign)}`
        : since(now, after);
      const reason = merged === undefined ? words : `${words}; ${merged.reason}`;
      const edits = foreign.length === 0 ? {} : { foreign };
      return { kind: 'settled', outcome: { outcome: 'conflict', reason, ...edits } };
    }
  }
  if (before.kind === 'absent' && !request.force) {
    const kept = keptInUse(path, request);
    if (kept !== 'none') return kept;
  }
  return { kind: 'act', change: { path, from, to: before, stamp, links } };
}

/** What somebody may need since: objects that name each other, or a repository as a whole. */
function keptInUse(path: RelPath, { inUse }: PlanRequest): Verdict | 'none' {
  const directory = gitDirectoryOf(path);
  const used = directory === 'none' ? undefined : inUse.get(directory);
  if (used === 'all') {
    if (path !== directory) return settle('unchanged', 'kept with its repository');
    return settle('conflict', 'the repository was used since, so it stays whole');
  }
  if (used === undefined || !isGitObject(path)) return 'none';
  return settle('unchanged', 'kept, for the repository was used since and may need it');
}

function since(now: Image, after: Image): string {
  if (now.kind === 'absent') return 'it was deleted after the turn';
  if (after.kind === 'absent') return 'it was made anew after the turn';
  return 'it was changed after the turn';
}

/** A `.git` that is a file (of a worktree or a submodule) is an ordinary file. */
function isRepositoryData({ path, before, after }: SquashedChange, now: Image = after): boolean {
  if (!isGitData(path)) return false;
  return nameOf(path) !== '.git' || [before, after, now].some(isDirectory);
}
