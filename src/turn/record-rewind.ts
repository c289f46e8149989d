import type { Change } from '../core/change.js';
import type { Outcome, PlannedChange } from '../core/plan.js';
import type { RepositoryNote } from '../core/repository-note.js';
import { storeChanges } from '../store/details.js';
import type { Applied } from './verify-applied.js';
import type { Workspace } from './workspace.js';

/** Turns the results of an apply into what a step records: what really changed. */
export function appliedChanges(
  changes: readonly PlannedChange[],
  applied: readonly Applied[],
): Change[] {
  const now = new Map(applied.map((result) => [result.outcome.path, result.now]));
  return changes.flatMap(({ path, from }) => {
    const after = now.get(path) ?? from;
    return after === from ? [] : [{ path, before: from, after }];
  });
}

/** Ends a rewind in the log. */
export function finish(
  workspace: Workspace,
  end: {
    readonly step: number;
    readonly recovered: boolean;
    readonly complete: boolean;
    readonly changes: readonly Change[];
    /** How each `.git` in it stood before and stands now, where that was looked at. */
    readonly repositories?: readonly RepositoryNote[];
  },
): void {
  const ref = storeChanges(workspace.layout.details, end.changes);
  workspace.append(() => ({
    type: 'rewound',
    step: end.step,
    at: new Date().toISOString(),
    recovered: end.recovered,
    complete: end.complete,
    changes: ref.kind === 'inline' ? { kind: 'inline', changes: [...end.changes] } : { ...ref },
    repositories: [...(end.repositories ?? [])],
  }));
}

/** Reports whether nothing is left that another try could put back. */
export function isSettled(outcomes: readonly Outcome[]): boolean {
  return outcomes.every(({ outcome }) => outcome !== 'conflict' && outcome !== 'failed');
}
