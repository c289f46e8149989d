import { type Change, isNoChange } from '../core/change.js';
import type { Image } from '../core/image.js';
import type { Outcome } from '../core/outcome.js';
import { PreimageError } from '../core/problem.js';
import type { LogRecord, RewindRecord } from '../core/records.js';
import type { RelPath } from '../core/relpath.js';
import type { RepositoryNote } from '../core/repository-note.js';
import type { Times } from '../files/place.js';
import { ownIdentity } from '../files/process-identity.js';
import { storeChanges } from '../store/details.js';
import { refuseWhileOpen } from './refuse-while-open.js';
import { type LogState, nextStepId, type Workspace } from './workspace.js';

/** Gives what a step records: what really changed, from what stood before to what stands now. */
export function realChanges(
  planned: readonly Pick<Change, 'path' | 'before'>[],
  now: ReadonlyMap<RelPath, Image>,
): Change[] {
  return planned
    .map(({ path, before }) => ({ path, before, after: now.get(path) ?? before }))
    .filter((change) => change.after !== change.before && !isNoChange(change));
}

/** Writes down what a rewind is about to do, before it does anything; gives its step. */
export function journal(
  workspace: Workspace,
  state: LogState,
  job: {
    readonly record: Pick<RewindRecord, 'kind' | 'turn' | 'turns' | 'undoes'>;
    readonly partial: boolean;
    readonly whole: boolean;
    readonly times: Times;
    readonly planned: readonly Change[];
  },
): number {
  const { partial, whole, times, planned } = job;
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
      partial,
      whole,
      times,
      plan: plan.kind === 'inline' ? { kind: 'inline', changes: [...planned] } : { ...plan },
      ...job.record,
    };
  });
  return step;
}

/** Ends a rewind in the log, unless somebody else has ended it. */
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
  workspace.append(({ history }) => {
    const step = history.steps.find(({ id }) => id === end.step);
    // A second end would make the log contradict itself.
    if (step?.end.kind !== 'open') return 'nothing';
    return {
      type: 'rewound',
      step: end.step,
      at: new Date().toISOString(),
      recovered: end.recovered,
      complete: end.complete,
      changes: ref.kind === 'inline' ? { kind: 'inline', changes: [...end.changes] } : { ...ref },
      repositories: [...(end.repositories ?? [])],
    };
  });
}

/** Reports whether nothing is left that another try could put back. */
export function isSettled(outcomes: readonly Outcome[]): boolean {
  return outcomes.every(({ outcome }) => outcome !== 'conflict' && outcome !== 'failed');
}
