import {
  type History,
  nameOfStep,
  openedAt,
  stepsSince,
  type Turn,
  undoSet,
} from '../core/history.js';
import type { Image } from '../core/image.js';
import type { Manifest } from '../core/manifest.js';
import type { Outcome } from '../core/outcome.js';
import { outcomeOf, type Plan } from '../core/plan.js';
import { isLoan, type PlannedChange } from '../core/planned.js';
import { printable } from '../core/printable.js';
import { PreimageError } from '../core/problem.js';
import { comparePaths, type RelPath } from '../core/relpath.js';
import { selectPaths } from '../core/select-paths.js';
import { compose, EMPTY_SQUASH, inPathOrder, squash, squashOf } from '../core/squash.js';
import { openTree } from '../files/tree.js';
import { PackWriter } from '../store/pack-writer.js';
import { applyPlan } from './apply-plan.js';
import { chooseTurn } from './choose-turn.js';
import { makeControl, removeControl } from './control.js';
import { noteGitUse } from './git-use.js';
import { orGiveUp } from './given-up.js';
import { tellMerged } from './merge-later.js';
import {
  lookAgain,
  planFromDisk,
  prepareRewind,
  type RewindJob,
  type RewindOptions,
} from './prepare-rewind.js';
import { finish, isSettled, journal, realChanges } from './record-rewind.js';
import { recover } from './recover.js';
import { refuseWhileOpen } from './refuse-while-open.js';
import { findMoved, findSurvivors } from './survivors.js';
import { saying } from './system-trouble.js';
import { trustedHashes } from './trusted-hashes.js';
import { intervalOf, type LogState, type Workspace } from './workspace.js';

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
export function rewind(
  workspace: Workspace,
  turn: string | 'newest',
  options: RewindOptions,
): Promise<RewindResult> {
  return saying('rewind', UNTOUCHED, () =>
    rewindChosen(workspace, options, (history) => chooseTurn(workspace, history, turn)),
  );
}

/** Puts the workspace back to how it was when one step opened, later turns included. */
export function rewindStep(
  workspace: Workspace,
  step: number,
  options: RewindOptions,
): Promise<RewindResult> {
  return saying('rewind', UNTOUCHED, () =>
    rewindChosen(workspace, options, ({ steps }) => {
      const work = steps.find((each) => each.id === step && each.kind === 'work');
      if (work?.kind === 'work') return { id: work.open.turn, steps: [work] };
      throw new PreimageError('no-such-turn', `There is no step ${step} any more.`);
    }),
  );
}

/** Takes the last rewind back that no redo has taken back yet. */
export function redo(workspace: Workspace, options: RewindOptions): Promise<RewindResult> {
  return saying('redo', UNTOUCHED, () => redoLast(workspace, options));
}

const UNTOUCHED = 'Nothing was changed; try again.';

async function rewindChosen(
  workspace: Workspace,
  options: RewindOptions,
  choose: (history: History) => Turn,
): Promise<RewindResult> {
  await recover(workspace, { dryRun: options.dryRun });
  const state = workspace.readLog();
  refuseWhileOpen(state.history);
  const target = choose(state.history);
  const undo = undoSet(state.history, target);
  const contested = new Map<RelPath, string>();
  for (const step of undo.concurrent) {
    for (const { path } of workspace.changes(step)) contested.set(path, step.open.turn);
  }
  const intervals = [...undo.steps, ...undo.rewinds]
    .sort((a, b) => a.opened - b.opened)
    .map((step) => intervalOf(workspace, step));
  return carryOut(workspace, state, {
    squashed: inPathOrder(squash(intervals)),
    since: stepsSince(state.history, openedAt(undo.steps)),
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

async function redoLast(workspace: Workspace, options: RewindOptions): Promise<RewindResult> {
  await recover(workspace, { dryRun: options.dryRun });
  const state = workspace.readLog();
  refuseWhileOpen(state.history);
  const last = state.history.redoable.at(-1);
  if (last === undefined) {
    throw new PreimageError('nothing-to-do', 'There is no rewind to take back.', {
      hint: 'See the turns with: preimage list',
    });
  }
  // What an earlier try has left half done is known by what it recorded.
  const tries = state.history.steps.filter(
    ({ kind, open }) => kind === 'rewind' && open.kind === 'redo' && open.undoes.includes(last.id),
  );
  const taken = workspace.changes(last);
  const paths = new Set(taken.map(({ path }) => path));
  // A directory that a try had to make for them is nothing that the rewind did.
  const ofTries = tries.map((step) => {
    const changes = workspace.changes(step).filter(({ path }) => paths.has(path));
    return squashOf(changes, nameOfStep(step));
  });
  return carryOut(workspace, state, {
    squashed: inPathOrder(
      [squashOf(taken, nameOfStep(last)), ...ofTries].reduce(compose, EMPTY_SQUASH),
    ),
    since: stepsSince(state.history, last.opened),
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

/** Carries a rewind out under a lease: what it relies on in the store is not deleted meanwhile. */
function carryOut(workspace: Workspace, state: LogState, job: RewindJob): RewindResult {
  refuseUntouched(job);
  if (job.options.dryRun) return planAndApply(workspace, state, job);
  const lease = makeControl(workspace.layout);
  try {
    workspace.renew();
    return planAndApply(workspace, state, job);
  } finally {
    removeControl(lease);
  }
}

/** Paths that were all mistyped are no rewind that went well. */
function refuseUntouched({ squashed, options, record }: RewindJob): void {
  if (options.paths.length === 0 || selectPaths(squashed, options.paths).length > 0) return;
  const paths = options.paths.map(printable).join(', ');
  const { kind, turn } = record;
  throw new PreimageError(
    'nothing-to-do',
    kind === 'redo'
      ? `The rewind of turn ${turn} changed nothing at ${paths}.`
      : `Nothing at ${paths} was changed since turn ${turn} opened.`,
    { hint: `See what the turn touched with: preimage show ${turn}` },
  );
}

/** Plans, captures what is about to go, journals, applies, records. */
function planAndApply(workspace: Workspace, state: LogState, job: RewindJob): RewindResult {
  const { options, record } = job;
  const tree = openTree(workspace.root);
  const writer = new PackWriter(workspace.layout.packs, (sha256) => workspace.packs.holds(sha256));
  try {
    const plan = planFromDisk(workspace, tree, job);
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
    const whole = isSettled([...plan.settled, ...ready.refused]);
    const planned = ready.changes.map(({ path, from, to }) => ({ path, before: from, after: to }));
    const survivors = findSurvivors(tree, ready.changes, baselineOf(workspace, state));
    const moved = findMoved(workspace, tree, {
      changes: ready.changes,
      asBefore: unchanged(job, plan),
      since: job.since,
    });
    const times = options.preserveMtime ? 'recorded' : 'now';
    const step = journal(workspace, state, { record, partial, whole, times, planned });
    const finishing = `finish the ${record.kind} of turn ${record.turn}`;
    const end = (): RewindResult => {
      const applied = applyPlan(ready.changes, {
        tree,
        packs: workspace.packs,
        step,
        survivors,
        moved,
        resumed: false,
        times,
        onProgress: options.onProgress,
      });
      const told = applied.filter((_, i) => !isLoanAt(ready.changes, i));
      const done = told.map(({ outcome }) => outcome);
      const outcomes = [...ready.refused, ...tellMerged(done, merged)];
      const result = resultOf(record, lookAgain(workspace, tree, { job, plan }), outcomes);
      const now = new Map(applied.map((each) => [each.outcome.path, each.now] as const));
      finish(workspace, {
        step,
        recovered: false,
        complete: isSettled(result.outcomes),
        changes: realChanges(planned, now),
        repositories: noteGitUse(plan.gitUse, tree, trustedHashes(workspace)),
      });
      return result;
    };
    return saying(finishing, FINISHED_LATER, () => orGiveUp(workspace.layout.log, step, end));
  } catch (error) {
    writer.discard();
    throw error;
  } finally {
    tree.close();
  }
}

const FINISHED_LATER = 'Some of it may be done; the next preimage command finishes it.';

/** Gives the paths that are as they are to be, with what that is. */
function unchanged({ squashed }: RewindJob, plan: Plan): (readonly [RelPath, Image])[] {
  const paths = new Set(
    plan.settled.flatMap(({ path, outcome }) => (outcome === 'unchanged' ? [path] : [])),
  );
  return squashed.flatMap(({ path, before }) => (paths.has(path) ? [[path, before] as const] : []));
}

function isLoanAt(changes: readonly PlannedChange[], index: number): boolean {
  const change = changes[index];
  return change !== undefined && isLoan(change);
}

function baselineOf(workspace: Workspace, state: LogState): Manifest | 'none' {
  const baseline = workspace.baseline(state);
  return baseline === 'none' ? 'none' : baseline.manifest;
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
