import { mayBeEither, NOT_SEEN } from './change.js';
import { betweenWords } from './foreign-words.js';
import { gitDirectoryOf, isGitObject } from './git/paths.js';
import {
  type Absent,
  type Content,
  type FileImage,
  hasStamp,
  type Image,
  isAsSkipped,
  sameImage,
} from './image.js';
import { printable } from './printable.js';
import {
  type ByteString,
  comparePaths,
  isGitData,
  joinPath,
  nameOf,
  parentOf,
  type RelPath,
} from './relpath.js';
import type { ForeignEdit, SquashedChange } from './squash.js';

/** What stands at a path when a rewind is planned. */
export type DiskState = {
  readonly image: Image;
  /** Stat key as text, to be compared right before the write; `''` where nothing stands. */
  readonly stamp: string;
  /** How many names the file has; 1 for all else. */
  readonly links: number;
  /** Names in it, where it is a directory; `unknown` where it cannot be listed. */
  readonly entries: readonly ByteString[] | 'unknown';
  readonly parent: ParentState;
};

/** Whether the directory of a path can hold it. */
type ParentState =
  | { readonly kind: 'directory' }
  /** Directories above it are not there; this is the topmost of them. */
  | { readonly kind: 'missing'; readonly first: RelPath }
  /** Something that is no directory stands in the way. */
  | { readonly kind: 'blocked'; readonly by: RelPath };

/** One path that a rewind will change, from what stands there to what stood. */
export type PlannedChange = {
  readonly path: RelPath;
  readonly from: Image;
  readonly to: Absent | Content;
  /** See {@link DiskState.stamp}. */
  readonly stamp: string;
  /** See {@link DiskState.links}. */
  readonly links: number;
};

/** How one path came out of a rewind. */
export type OutcomeKind = 'restored' | 'deleted' | 'unchanged' | 'conflict' | 'skipped' | 'failed';

/** One path's outcome; the reason is `''` where there is nothing to say. */
export type Outcome = {
  readonly path: RelPath;
  readonly outcome: OutcomeKind;
  readonly reason: string;
  /** For a conflict: where, between which steps, somebody else changed the path. */
  readonly foreign?: readonly ForeignEdit[];
};

/** A file with what was edited since in it, and what to say of that; or why there is none. */
export type Merged =
  | { readonly kind: 'clean'; readonly image: FileImage; readonly words: string }
  | { readonly kind: 'none'; readonly reason: string };

/** What a rewind will do, and what was settled without doing anything. Both in path order. */
export type Plan = {
  readonly changes: readonly PlannedChange[];
  readonly settled: readonly Outcome[];
  /** Paths of a repository's own data that differ and are left alone. */
  readonly gitLeftAlone: number;
};

/** What {@link planRewind} decides from. */
export type PlanRequest = {
  readonly squashed: readonly SquashedChange[];
  readonly disk: ReadonlyMap<RelPath, DiskState>;
  /** Paths that a concurrent turn changed as well, with that turn's id. */
  readonly contested: ReadonlyMap<RelPath, string>;
  /** As what some paths count although other bytes stand there: git writes its index as it likes. */
  readonly seenAs: ReadonlyMap<RelPath, Image>;
  /** Paths that were edited since, merged. */
  readonly merged: ReadonlyMap<RelPath, Merged>;
  /** Each `.git` that somebody may have used since, with what in it may be needed and so stays. */
  readonly inUse: ReadonlyMap<RelPath, 'objects' | 'all'>;
  /** Puts back what is in conflict as well. */
  readonly force: boolean;
  /** Puts back `.git` as well. */
  readonly git: boolean;
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
    const verdict = judge(change, request);
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

type Settled = Omit<Outcome, 'path'>;
type Verdict =
  | { readonly kind: 'act'; readonly change: PlannedChange }
  | { readonly kind: 'settled'; readonly outcome: Settled };

function settle(outcome: OutcomeKind, reason: string): Verdict {
  return { kind: 'settled', outcome: { outcome, reason } };
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

/** A path can be made only in a directory that stands or is made: from the root down. */
function requireParents(verdicts: Map<RelPath, Verdict>, request: PlanRequest): void {
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
function keepFullDirectories(verdicts: Map<RelPath, Verdict>, { disk }: PlanRequest): void {
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

/** A `.git` that is a file (of a worktree or a submodule) is an ordinary file. */
function isRepositoryData({ path, before, after }: SquashedChange, now: Image = after): boolean {
  if (!isGitData(path)) return false;
  return nameOf(path) !== '.git' || [before, after, now].some(isDirectory);
}

/** Lists the directories from the topmost of them down to the one that holds a path. */
function directoriesBetween(first: RelPath, path: RelPath): RelPath[] {
  const found: RelPath[] = [];
  for (let at = parentOf(path); at !== first && at !== ''; at = parentOf(at)) found.unshift(at);
  return [first, ...found];
}

function isDirectory(image: Image): boolean {
  return image.kind === 'content' && image.type === 'directory';
}
