import { type History, openSteps, undoSet } from '../core/history.js';
import type { Manifest } from '../core/manifest.js';
import {
  type Merged,
  type Outcome,
  outcomeOf,
  type Plan,
  type PlannedChange,
} from '../core/plan.js';
import { isLoan } from '../core/planned.js';
import { PreimageError } from '../core/problem.js';
import type { LogRecord } from '../core/records.js';
import { comparePaths, type RelPath } from '../core/relpath.js';
import type { RepositoryNote } from '../core/repository-note.js';
import { ownIdentity } from '../files/process-identity.js';
import { openTree, type Tree } from '../files/tree.js';
import { storeChanges } from '../store/details.js';
import { PackWriter } from '../store/pack-writer.js';
import { applyPlan } from './apply-plan.js';
import { chooseTurn } from './choose-turn.js';
import { printOnDisk } from './git-print.js';
import type { GitUse } from './git-use.js';
import {
  changesOfJob,
  lookAgain,
  planFromDisk,
  prepareRewind,
  type RewindJob,
  type RewindOptions,
} from './prepare-rewind.js';
import { appliedChanges, finish, isSettled } from './record-rewind.js';
import { recover } from './recover.js';
import { findSurvivors } from './survivors.js';
import { trustedHashes } from './trusted-hashes.js';
import { type LogState, nextStepId, type Workspace } from './workspace.js';

/** What came of a rewind or a redo; with `dryRun` what would. */
export type RewindResult = {
  /** The turn that was asked for; for a redo the turn whose rewind was taken back. */
  readonly turn: string;
  /** Turns undone (for a redo: brought back), newest first. */
  readonly turns: readonly string[];
  /** No conflict, nothing skipped, nothing failed. */
  readonly complete: boolean;
  readonly outcomes: readonly Outcome[];
  /** Paths of repositories' own data that differ and were left alone. */
  readonly gitLeftAlone: number;
};

/** Puts the workspace, or some paths of it, back to how it was when a turn opened. */
export async function rewind(
  workspace: Workspace,
  turn: string | 'newest',
  options: RewindOptions,
): Promise<RewindResult> {
  await recover(workspace);
  const state = workspace.readLog();
  refuseWhileOpen(state.history);
  const target = chooseTurn(workspace, state.history, turn);
  const undo = undoSet(state.history, target);
  const contested = new Map<RelPath, string>();
  for (const step of undo.concurrent) {
    for (const { path } of workspace.changes(step)) contested.set(path, step.open.turn);
  }
  return carryOut(workspace, state, {
    steps: undo.steps.map((step) => ({ step, interval: workspace.interval(step) })),
    contested,
    record: {
      kind: 'rewind',
      turn: target.id,
      turns: [...undo.turns],
      undoes: undo.steps.map(({ id }) => id),
    },
    options,
  });
}

/** Takes the last rewind back that no redo has taken back yet. */
export async function redo(workspace: Workspace, options: RewindOptions): Promise<RewindResult> {
  await recover(workspace);
  const state = workspace.readLog();
  refuseWhileOpen(state.history);
  const last = state.history.redoable.at(-1);
  if (last === undefined) {
    throw new PreimageError('nothing-to-do', 'There is no rewind to take back.', {
      hint: 'See the turns with: preimage list',
    });
  }
  return carryOut(workspace, state, {
    steps: [{ step: last, interval: workspace.interval(last) }],
    contested: new Map(),
    record: {
      kind: 'redo',
      turn: last.open.turn,
      turns: [...last.open.turns],
      undoes: [last.id],
    },
    // What a rewind did is taken back whole, `.git` included if it was in it.
    options: { ...options, git: true },
  });
}

/** Plans, captures what is about to go, journals, applies, records. */
function carryOut(workspace: Workspace, state: LogState, job: RewindJob): RewindResult {
  const { options, record } = job;
  const tree = openTree(workspace.root);
  const writer = new PackWriter(workspace.layout.packs, (sha256) => workspace.packs.has(sha256));
  try {
    const selected = changesOfJob(job);
    const plan = planFromDisk(workspace, tree, { job, selected });
    const { merged } = plan.merges;
    if (options.dryRun) {
      return resultOf(record, plan, tellMerged(plan.changes.map(outcomeOf), merged));
    }
    const ready = prepareRewind(workspace, { tree, writer, plan });
    writer.sync();
    writer.close();
    workspace.packs.refresh();
    if (ready.changes.length === 0) {
      const result = resultOf(record, plan, ready.refused);
      // Nothing was done and something is left: nothing is to be remembered either.
      if (!isSettled(result.outcomes)) return result;
    }
    const partial = options.paths.length > 0;
    const step = journal(workspace, state, { record, partial, changes: ready.changes });
    const applied = applyPlan(ready.changes, {
      tree,
      packs: workspace.packs,
      step,
      survivors: findSurvivors(tree, ready.changes, baselineOf(workspace, state)),
      onProgress: options.onProgress,
    });
    const told = applied.filter((_, i) => !isLoanAt(ready.changes, i));
    const done = told.map(({ outcome }) => outcome);
    const outcomes = [...ready.refused, ...tellMerged(done, merged)];
    const result = resultOf(record, lookAgain(workspace, tree, { job, selected, plan }), outcomes);
    finish(workspace, {
      step,
      recovered: false,
      complete: isSettled(result.outcomes),
      changes: appliedChanges(ready.changes, applied),
      repositories: repositoriesNow(workspace, tree, plan.gitUse),
    });
    return result;
  } catch (error) {
    writer.discard();
    throw error;
  } finally {
    tree.close();
  }
}

/** Says of what was put back merged that it was. */
function tellMerged(outcomes: readonly Outcome[], merged: ReadonlyMap<RelPath, Merged>): Outcome[] {
  return outcomes.map((outcome) => {
    const merge = merged.get(outcome.path);
    const isTold = outcome.outcome === 'restored' && merge?.kind === 'clean';
    if (!isTold) return outcome;
    const note = outcome.reason === '' ? '' : `; ${outcome.reason}`;
    return { ...outcome, reason: `${merge.words}${note}` };
  });
}

/** Notes how each `.git` stood before and stands now, for whoever undoes this rewind. */
function repositoriesNow(workspace: Workspace, tree: Tree, { prints }: GitUse): RepositoryNote[] {
  if (prints.size === 0) return [];
  tree.reset();
  const known = trustedHashes(workspace);
  return [...prints].map(([path, opened]) => {
    return { path, opened, closed: printOnDisk(tree, path, known), beside: [] };
  });
}

function isLoanAt(changes: readonly PlannedChange[], index: number): boolean {
  const change = changes[index];
  return change !== undefined && isLoan(change);
}

function baselineOf(workspace: Workspace, state: LogState): Manifest | 'none' {
  const baseline = workspace.baseline(state);
  return baseline === 'none' ? 'none' : baseline.manifest;
}

function journal(
  workspace: Workspace,
  state: LogState,
  job: {
    readonly record: RewindJob['record'];
    readonly partial: boolean;
    readonly changes: readonly PlannedChange[];
  },
): number {
  const planned = job.changes.map(({ path, from, to }) => ({ path, before: from, after: to }));
  const plan = storeChanges(workspace.layout.details, planned);
  let step = 0;
  workspace.append((now): LogRecord => {
    refuseWhileOpen(now.history);
    if (now.contents.head !== state.contents.head) {
      throw new PreimageError('busy', 'Another step was recorded while this rewind was planned.', {
        hint: 'Try again.',
      });
    }
    step = nextStepId(now);
    return {
      type: 'rewind',
      step,
      at: new Date().toISOString(),
      owner: ownIdentity(),
      partial: job.partial,
      plan: plan.kind === 'inline' ? { kind: 'inline', changes: planned } : { ...plan },
      ...job.record,
    };
  });
  return step;
}

function resultOf(
  { turn, turns }: RewindJob['record'],
  plan: Plan,
  outcomes: readonly Outcome[],
): RewindResult {
  const all = [...plan.settled, ...outcomes].sort((a, b) => comparePaths(a.path, b.path));
  const complete = all.every(({ outcome }) => COMPLETE.has(outcome));
  return { turn, turns, complete, outcomes: all, gitLeftAlone: plan.gitLeftAlone };
}

const COMPLETE: ReadonlySet<string> = new Set(['restored', 'deleted', 'unchanged']);

function refuseWhileOpen(history: History): void {
  const [open] = openSteps(history);
  if (open === undefined) return;
  const { turn } = open.open;
  if (open.kind === 'rewind') {
    throw new PreimageError('busy', 'Another rewind is running in this workspace.', {
      hint: 'Wait until it has finished, then try again.',
    });
  }
  const hint =
    open.open.owner === null
      ? `Close it first: preimage close --turn ${turn}`
      : `Wait until process ${open.open.owner.pid} has finished, then try again.`;
  throw new PreimageError('busy', `Turn ${turn} is still open (step ${open.id}).`, { hint });
}
