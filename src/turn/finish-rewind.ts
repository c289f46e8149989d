import type { Change } from '../core/change.js';
import { type History, openedAt, type RewindStep, stepsSince } from '../core/history.js';
import type { Image } from '../core/image.js';
import type { Outcome } from '../core/outcome.js';
import type { PlannedChange } from '../core/planned.js';
import type { RelPath } from '../core/relpath.js';
import { judgeReplay } from '../core/replay.js';
import { lookAtAll } from '../files/look-all.js';
import { openTree, type Tree } from '../files/tree.js';
import { loadChanges } from '../store/details.js';
import { withLock } from '../store/lock.js';
import { applyPlan } from './apply-plan.js';
import { removeStaged } from './leftovers.js';
import { finish, isSettled, realChanges } from './record-rewind.js';
import { findMoved, findSurvivors } from './survivors.js';
import { saying } from './system-trouble.js';
import { closedDirectory, directoriesOf, unlock } from './unlocked.js';
import type { Workspace } from './workspace.js';

/**
 * Finishes a rewind whose process died, from its journal: what is done is left, what is not is done.
 * Only one process at a time does it; who comes second finds it finished. Gives what was left out.
 */
export function finishRewind(workspace: Workspace, { id, open }: RewindStep): Outcome[] {
  const doing = `finish the ${open.kind} of turn ${open.turn} that was cut off`;
  return saying(doing, TRIED_AGAIN, () => lockAndReplay(workspace, id));
}

const TRIED_AGAIN = 'Every preimage command tries it again.';

function lockAndReplay(workspace: Workspace, id: number): Outcome[] {
  return withLock(workspace.layout.locks, 'recovery', () => {
    const { history } = workspace.readLog();
    const step = history.steps.find((each) => each.id === id);
    if (step?.kind !== 'rewind' || step.end.kind !== 'open') return [];
    const tree = openTree(workspace.root);
    try {
      return replay(workspace, tree, step, history);
    } finally {
      tree.close();
    }
  });
}

function replay(workspace: Workspace, tree: Tree, step: RewindStep, history: History): Outcome[] {
  const plan = loadChanges(workspace.layout.details, step.open.plan);
  removeStaged(
    tree,
    step.id,
    plan.map(({ path }) => path),
  );
  openPlanned(tree, plan);
  const changes: PlannedChange[] = [];
  const now = new Map<RelPath, Image>();
  const left: Outcome[] = [];
  const notes: Outcome[] = [];
  const seen = lookAtAll(
    tree,
    plan.map(({ path }) => path),
    'hash-only',
  );
  for (const change of plan) {
    const { path, after } = change;
    const disk = seen.get(path);
    if (after.kind === 'skipped' || disk === undefined) continue;
    switch (judgeReplay(change, disk)) {
      case 'done':
        now.set(path, after);
        break;
      case 'to-do': {
        const { image: from, stamp, links } = disk;
        changes.push({ path, from, to: after, stamp, links });
        break;
      }
      case 'changed':
        left.push({ path, outcome: 'conflict', reason: 'it was changed after the crash' });
        break;
    }
  }
  const baseline = workspace.baseline(workspace.readLog());
  const manifest = baseline === 'none' ? 'none' : baseline.manifest;
  const applied = applyPlan(changes, {
    tree,
    packs: workspace.packs,
    step: step.id,
    survivors: findSurvivors(tree, changes, manifest),
    moved: findMoved(workspace, tree, {
      changes,
      asBefore: now,
      since: stepsSince(history, beganAt(history, step)),
    }),
    resumed: true,
    times: step.open.times,
    onProgress: () => {},
  });
  for (const { outcome, now: image } of applied) {
    now.set(outcome.path, image);
    if (!isSettled([outcome])) left.push(outcome);
    else if (outcome.reason !== '') notes.push(outcome);
  }
  finish(workspace, {
    step: step.id,
    recovered: true,
    complete: step.open.whole && left.length === 0,
    // The step's effect is from what stood before the crash to what stands now.
    changes: realChanges(plan, now),
  });
  return [...left, ...notes];
}

/** Tells the line at which the first step opened that a rewind undoes. */
function beganAt({ steps }: History, { open }: RewindStep): number {
  const undone = new Set(open.undoes);
  return openedAt(steps.filter(({ id }) => undone.has(id)));
}

/**
 * Opens the directories of the plan that their owner has closed to itself, for what is in them is to
 * be looked at: the cut-off rewind may have closed them already. The plan closes them again.
 */
function openPlanned(tree: Tree, plan: readonly Change[]): void {
  const planned = new Set(plan.map(({ path }) => path));
  for (const path of directoriesOf(plan)) {
    const image = planned.has(path) ? closedDirectory(tree, path) : 'open';
    if (image !== 'open') unlock(tree, path, image);
  }
}
