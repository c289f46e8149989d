import type { Sha256 } from '../core/image.js';
import { errnoWords, isErrno } from '../core/problem.js';
import { BigFiles } from '../store/big-files.js';
import { withLock } from '../store/lock.js';
import { PackWriter } from '../store/pack-writer.js';
import { type Goer, planReclaim, type ReclaimPlan, type Repacking } from '../store/reclaim-plan.js';
import { copyRecords } from '../store/repack.js';
import { Repacker, type RepackOptions } from '../store/repacker.js';
import { packName, type Retired } from '../store/retired.js';
import { GRACE_MS, sweep } from '../store/sweep.js';
import { Trash } from '../store/trash.js';
import { isAtWork, sealAbandoned } from './abandoned.js';
import { rescue } from './bring-back.js';
import { type Named, namedBy } from './named.js';
import { sweepLeftovers } from './sweep-leftovers.js';
import type { LogState, Workspace } from './workspace.js';

/** How often a look at the log is repeated because it moved on meanwhile. */
const TRIES = 5;

/**
 * Drops from the store what nothing names any more; the caller holds the upkeep lock. Gives in words
 * what could not be done.
 *
 * Others may open, close and rewind meanwhile. Each of them makes its lease (a control directory)
 * before it looks at what the store holds, and looks at the list of what was retired when it takes
 * the log's lock to name something. So: what is retired is retired under that lock and only while the
 * log is the one that was looked at; it waits in the trash; and the trash is emptied at once only if
 * there is no lease after that.
 */
export function reclaim(workspace: Workspace, effort: Effort): string[] {
  const { layout } = workspace;
  sweepLeftovers(workspace);
  for (let tries = 0; tries < TRIES; tries++) {
    const seen = look(workspace);
    sealAbandoned(workspace);
    bringBackNeeded(workspace, seen.named);
    const { contents } = seen.named;
    const { repacking } = effort;
    const plan = planReclaim(layout.packs, (sha256) => contents.has(sha256), repacking);
    const big = new BigFiles(layout.big).contents().filter((sha256) => !contents.has(sha256));
    const dead = [...plan.dead.map(({ number }) => packName(number)), ...big];
    if (!retire(workspace, seen, dead.map(intoNothing))) continue;
    const trash = new Trash(layout);
    // What is free already is deleted before anything is copied: space may be short.
    trash.empty(patience(workspace));
    const notes = moveOut(workspace, seen, { ...plan, effort });
    clearLists(workspace, seen);
    trash.empty(patience(workspace));
    workspace.packs.close();
    return notes;
  }
  return ['the history moved on all the time, so not all was cleared away; try again'];
}

/** How much time may be spent on making the store smaller than it must be. */
export type Effort = { readonly repacking: Repacking; readonly ms: number };

/** The log as it was looked at, and what it names. */
type Seen = { readonly state: LogState; readonly named: Named; readonly at: number };

function look(workspace: Workspace): Seen {
  const at = Date.now();
  const state = workspace.readLog();
  return { state, named: namedBy(workspace.layout, state.history), at };
}

/** `all` where nobody can be about to name something that nothing names yet. */
function patience(workspace: Workspace): 'all' | 'old' {
  return isAtWork(workspace) ? 'old' : 'all';
}

/** What has become needed again while it was in the trash comes back before that is emptied. */
function bringBackNeeded(workspace: Workspace, { contents }: Named): void {
  const held = new Trash(workspace.layout).contents().filter((sha256) => contents.has(sha256));
  if (held.length === 0) return;
  workspace.packs.close();
  const missing = held.filter((sha256) => !workspace.packs.has(sha256));
  rescue(workspace, missing);
}

/** Retires things if the log is still the one that was looked at; else says false and does nothing. */
function retire(workspace: Workspace, { state }: Seen, entries: readonly Retired[]): boolean {
  const { layout } = workspace;
  return withLock(layout.locks, 'log', () => {
    if (workspace.readLog().contents.head !== state.contents.head) return false;
    new Trash(layout).retire(entries);
    return true;
  });
}

function intoNothing(name: string): Retired {
  return { name, into: 'none' };
}

/**
 * Removes lists of changes and manifests that nothing names. What was written after the look at the
 * log stays: somebody may be about to name it.
 */
function clearLists(workspace: Workspace, { state, named, at }: Seen): void {
  const { layout } = workspace;
  withLock(layout.locks, 'log', () => {
    if (workspace.readLog().contents.head !== state.contents.head) return;
    const before = patience(workspace) === 'all' ? at - CLOCK_SLACK_MS : at - GRACE_MS;
    sweep(layout.manifests, named.manifests, before);
    sweep(layout.details, named.details, before);
  });
}

/** File systems stamp by a clock that may be this much behind the one that we read. */
const CLOCK_SLACK_MS = 1000;

/**
 * Copies what is needed out of packs that are mostly dead or could be smaller, batch by batch, and
 * retires those. Each batch is whole by itself, and none needs more space than it will free.
 */
function moveOut(
  workspace: Workspace,
  seen: Seen,
  job: Pick<ReclaimPlan, 'batches' | 'raw'> & { readonly effort: Effort },
): string[] {
  const until = performance.now() + job.effort.ms;
  const hasTime = (): boolean => performance.now() < until;
  const kin = (sha256: Sha256): Sha256 | 'none' => seen.named.kin.of(sha256);
  for (const batch of [...job.batches, ...job.raw]) {
    // What only takes more space than it might can wait; what is mostly dead cannot.
    if (job.raw.includes(batch) && !hasTime()) break;
    try {
      // What is small already must not become large on its way.
      const isSmall = batch.some(({ repacked }) => repacked);
      const options = { kin, hasTime: isSmall ? () => true : hasTime };
      if (!moveBatch(workspace, seen, batch, options)) {
        return ['the history moved on, so not all was cleared away; try again'];
      }
    } catch (error) {
      if (!isErrno(error, 'ENOSPC', 'EDQUOT')) throw error;
      return [`packs could not be made smaller: ${errnoWords(error)}`];
    }
    new Trash(workspace.layout).empty(patience(workspace));
  }
  return [];
}

function moveBatch(
  workspace: Workspace,
  seen: Seen,
  batch: readonly Goer[],
  options: RepackOptions,
): boolean {
  const { packs } = workspace.layout;
  const writer = new PackWriter(packs, () => false);
  const repacker = new Repacker(writer, options);
  const whole: Goer[] = [];
  try {
    for (const goer of batch) {
      const offsets = goer.keep.map(({ offset }) => offset);
      // A pack with damage stays as it is: `verify --repair` says whom it touches.
      const damaged = copyRecords(packs, goer.number, { offsets, writer, repacker });
      if (damaged.length === 0) whole.push(goer);
    }
    repacker.finish();
    writer.sync();
    const into = writer.number;
    writer.close();
    if (into === 'none') return true;
    const entries = whole.map(({ number }) => ({ name: packName(number), into: packName(into) }));
    return retire(workspace, seen, entries);
  } catch (error) {
    writer.discard();
    throw error;
  }
}
