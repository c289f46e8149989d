import fs from 'node:fs';
import { join } from 'node:path';
import { errnoWords, isErrno, PreimageError } from '../core/problem.js';
import { encodeRecord } from '../core/records.js';
import { type Cut, chooseCut, prunedRecord, type Retention } from '../core/retention.js';
import { UPKEEP, withFreeLock, withLock } from '../store/lock.js';
import { rewriteLog, textsOf } from '../store/log.js';
import { HEADER_BYTES } from '../store/pack-format.js';
import { freedBy, planReclaim } from '../store/reclaim-plan.js';
import { earlierChains } from './earlier-chains.js';
import { type Named, namedBy } from './named.js';
import { type Effort, reclaim } from './reclaim.js';
import { storeSizes, totalSize } from './store-size.js';
import type { LogState, Workspace } from './workspace.js';

/** What a prune dropped; with `dryRun` what it would. */
export type PruneResult = {
  /** Turns that went, oldest first. */
  readonly turns: readonly string[];
  /** Turns that stay. */
  readonly kept: number;
  /** Bytes that the store takes less. */
  readonly freed: number;
  /** Bytes that are still on the disk and go with a later prune: a step is open that may need them. */
  readonly waiting: number;
  /** Bytes that the history still takes, beside the one copy of the workspace as it stands. */
  readonly history: number;
  /** What could not be done, in words. */
  readonly notes: readonly string[];
};

/**
 * Drops the oldest turns that pass a limit, then everything in the store that nothing names. Runs
 * beside open steps and other processes; throws `busy` where another upkeep runs, `damaged` where the
 * store is too damaged to say what is needed, `cannot-store` where it cannot be written.
 */
export function prune(workspace: Workspace, retention: Retention): PruneResult {
  const { directory, locks } = workspace.layout;
  try {
    return withLock(locks, UPKEEP, () => pruneLocked(workspace, retention, THOROUGH));
  } catch (error) {
    if (!isErrno(error, 'ENOSPC', 'EDQUOT', 'EACCES', 'EPERM', 'EROFS', 'EIO')) throw error;
    const what = `Cannot clear up the store ${directory}: ${errnoWords(error)}.`;
    const hint = 'Nothing that is needed was dropped. Mend that, then try again.';
    throw new PreimageError('cannot-store', what, { hint, cause: error });
  }
}

/** Prunes in little time, but not where somebody is at it already. */
export function pruneIfFree(workspace: Workspace, retention: Retention): PruneResult | 'held' {
  return withFreeLock(workspace.layout.locks, UPKEEP, () =>
    pruneLocked(workspace, retention, IN_PASSING),
  );
}

const THOROUGH: Effort = { repacking: 'all', ms: Number.POSITIVE_INFINITY };
/** Somebody waits for the close that it comes after. */
const IN_PASSING: Effort = { repacking: 'small', ms: 250 };

/** Says what a prune would drop, by the same choice, and changes nothing. */
export function planPrune(workspace: Workspace, retention: Retention): PruneResult {
  const { state, named, cut } = choose(workspace, retention);
  const plan = planReclaim(workspace.layout.packs, (sha256) => {
    const need = named.contents.get(sha256);
    return need !== undefined && need.until >= cut.line;
  });
  return {
    turns: cut.turns,
    kept: state.history.turns.size - cut.turns.length,
    freed: freedBy(plan),
    waiting: 0,
    history: historySizes(workspace, named)(cut.line),
    notes: [],
  };
}

/** Gives a function that tells the bytes that the history takes from a line of the log on. */
export function historySizes({ layout, packs }: Workspace, named: Named): (line: number) => number {
  const rows: { readonly until: number; readonly bytes: number }[] = [];
  for (const [sha256, { until, bytes }] of named.contents) {
    if (!Number.isFinite(until)) continue;
    const stored = packs.sizeOf(sha256);
    rows.push({ until, bytes: stored === 'unknown' ? bytes + HEADER_BYTES : stored });
  }
  for (const [name, { until }] of named.details) {
    const stat = fs.statSync(join(layout.details, name), { throwIfNoEntry: false });
    rows.push({ until, bytes: stat?.size ?? 0 });
  }
  rows.sort((a, b) => b.until - a.until);
  // Newest first, each with the sum of itself and all that are newer.
  let sum = 0;
  const sums = rows.map(({ until, bytes }) => {
    sum += bytes;
    return { until, sum };
  });
  return (line) => sums.findLast(({ until }) => until >= line)?.sum ?? 0;
}

function pruneLocked(workspace: Workspace, retention: Retention, effort: Effort): PruneResult {
  const before = totalSize(storeSizes(workspace.layout));
  const dropped = dropTurns(workspace, retention);
  const notes = [...dropped.notes, ...reclaim(workspace, effort)];
  const after = storeSizes(workspace.layout);
  return {
    turns: dropped.cut.turns,
    kept: dropped.kept,
    freed: Math.max(0, before - totalSize(after)),
    waiting: after.trash,
    history: dropped.history,
    notes,
  };
}

/** How often the choice is made again because a step was recorded meanwhile. */
const TRIES = 5;

type Dropped = {
  readonly cut: Cut;
  readonly kept: number;
  readonly history: number;
  readonly notes: readonly string[];
};

function dropTurns(workspace: Workspace, retention: Retention): Dropped {
  let cleared: string[] | undefined;
  for (let tries = 0; tries < TRIES; tries++) {
    const chosen = choose(workspace, retention);
    const { cut, named, state } = chosen;
    const done = {
      cut,
      kept: state.history.turns.size - cut.turns.length,
      history: historySizes(workspace, named)(cut.line),
      notes: [],
    };
    if (cut.steps === 0) return done;
    try {
      if (writeCut(workspace, chosen)) return done;
    } catch (error) {
      if (!isErrno(error, 'ENOSPC', 'EDQUOT')) throw error;
      if (cleared !== undefined) {
        const notes = [`no turn could be dropped: ${errnoWords(error)}`, ...cleared];
        return { ...done, cut: NO_CUT, kept: state.history.turns.size, notes };
      }
      // The log is written anew before the old one goes: what nobody needs makes room for that.
      cleared = reclaim(workspace, { repacking: 'none', ms: Number.POSITIVE_INFINITY });
    }
  }
  throw new PreimageError('busy', 'Steps keep being recorded in this workspace.', {
    hint: 'Try again.',
  });
}

const NO_CUT: Cut = { line: 0, turns: [], steps: 0 };

type Choice = { readonly state: LogState; readonly named: Named; readonly cut: Cut };

function choose(workspace: Workspace, retention: Retention): Choice {
  const state = workspace.readLog();
  const named = namedBy(workspace.layout, state.history);
  const sizeFrom = historySizes(workspace, named);
  const cut = chooseCut(state.history, retention, { now: Date.now(), sizeFrom });
  return { state, named, cut };
}

/** Writes the log without what goes; false where it moved on meanwhile. */
function writeCut(workspace: Workspace, { state, cut }: Choice): boolean {
  const { layout } = workspace;
  return withLock(layout.locks, 'log', () => {
    const { contents } = workspace.readLog();
    if (contents.head !== state.contents.head) return false;
    const { head } = contents;
    const at = new Date().toISOString();
    const texts = textsOf(layout.log, contents);
    const earlier = earlierChains(contents, texts, cut.line);
    const first = prunedRecord(state.history, { cut, head, at, earlier });
    // What stays is kept to the letter: the chains that it was in can be followed again.
    rewriteLog(layout.log, [encodeRecord(first), ...texts.slice(cut.line)]);
    return true;
  });
}
