import fs from 'node:fs';
import type { RewindStep } from '../core/history.js';
import { type Image, sameBytes, sameImage } from '../core/image.js';
import type { DiskState, Outcome, PlannedChange } from '../core/plan.js';
import { parentOf, type RelPath, ROOT } from '../core/relpath.js';
import { lookAt } from '../files/look.js';
import { openTree, type Tree } from '../files/tree.js';
import { loadChanges } from '../store/details.js';
import { applyPlan } from './apply-plan.js';
import { appliedChanges, finish, isSettled } from './record-rewind.js';
import { stagedPrefix } from './stager.js';
import type { Workspace } from './workspace.js';

/**
 * Finishes a rewind whose process died, from its journal: what is done is left, what is not is done.
 * Stored bytes never change, so doing it twice is harmless.
 */
export function finishRewind(workspace: Workspace, step: RewindStep): void {
  const tree = openTree(workspace.root);
  try {
    const plan = loadChanges(workspace.layout.details, step.open.plan);
    removeLeftovers(
      tree,
      step.id,
      plan.map(({ path }) => path),
    );
    const changes: PlannedChange[] = [];
    const settled: Outcome[] = [];
    for (const { path, before: from, after: to } of plan) {
      const disk = lookAt(tree, path, 'hash-only');
      if (to.kind === 'skipped') continue;
      if (sameImage(disk.image, to)) {
        settled.push({ path, outcome: 'restored', reason: '' });
      } else if (sameImage(disk.image, from) || isHalfway(disk, from, to)) {
        changes.push({ path, from: disk.image, to, stamp: disk.stamp, links: disk.links });
      } else {
        settled.push({ path, outcome: 'conflict', reason: 'it was changed after the crash' });
      }
    }
    const applied = applyPlan(changes, {
      tree,
      packs: workspace.packs,
      step: step.id,
      survivors: new Map(),
      onProgress: () => {},
    });
    // The whole step's effect is from what stood before the crash to what stands now.
    const origin = new Map(plan.map(({ path, before }) => [path, before]));
    const done = appliedChanges(changes, applied).map((change) => ({
      ...change,
      before: origin.get(change.path) ?? change.before,
    }));
    const earlier = plan.filter(
      ({ path, after }) =>
        !changes.some((change) => change.path === path) &&
        settled.some((outcome) => outcome.path === path && outcome.outcome === 'restored') &&
        after.kind !== 'skipped',
    );
    const outcomes = [...settled, ...applied.map(({ outcome }) => outcome)];
    finish(workspace, {
      step: step.id,
      recovered: true,
      complete: isSettled(outcomes),
      changes: [...earlier, ...done],
    });
  } finally {
    tree.close();
  }
}

/**
 * Reports whether a path is in a state that an apply passes through: gone before its successor is in
 * place, a directory that has no mode of its own yet, an owner that is set and a mode that is not, an
 * inode that is being written in place.
 */
function isHalfway(disk: DiskState, from: Image, to: Image): boolean {
  const now = disk.image;
  if (now.kind === 'absent') return to.kind === 'content' && from.kind === 'content';
  if (now.kind !== 'content' || to.kind !== 'content') return false;
  if (sameBytes(now, to)) return true;
  return to.type === 'file' && to.link !== '' && disk.stamp.startsWith(`${to.link}:`);
}

/** Removes what the cut-off rewind had staged: files of its name in the directories of the plan. */
function removeLeftovers(tree: Tree, step: number, paths: readonly RelPath[]): void {
  const directories = new Set<RelPath>([ROOT]);
  for (const path of paths) {
    for (let at = parentOf(path); at !== ''; at = parentOf(at)) directories.add(at);
  }
  const prefix = stagedPrefix(step);
  for (const path of directories) {
    const directory = tree.directory(path);
    if (directory.kind !== 'directory') continue;
    for (const name of fs.readdirSync(directory.self, 'latin1')) {
      if (name.startsWith(prefix) && /^\d+$/.test(name.slice(prefix.length))) {
        fs.unlinkSync(directory.at(name));
      }
    }
  }
}
