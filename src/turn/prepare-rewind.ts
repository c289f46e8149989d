import type { Outcome, Plan, PlannedChange } from '../core/plan.js';
import { planRewind, selectPaths } from '../core/plan.js';
import type { RewindRecord } from '../core/records.js';
import { comparePaths, type RelPath } from '../core/relpath.js';
import type { SquashedChange } from '../core/squash.js';
import { lookAt } from '../files/look.js';
import type { Tree } from '../files/tree.js';
import type { PackWriter } from '../store/pack-writer.js';
import { captureFrom } from './capture-from.js';
import { trustedHashes } from './trusted-hashes.js';
import { closedDirectory, directoriesOf } from './unlocked.js';
import type { Workspace } from './workspace.js';

/** How a rewind or a redo is to be done. */
export type RewindOptions = {
  /** Only these paths and what is below them; all if empty. */
  readonly paths: readonly RelPath[];
  readonly dryRun: boolean;
  readonly force: boolean;
  readonly git: boolean;
  readonly onProgress: (done: number, total: number) => void;
};

/** What a rewind or a redo has to do. */
export type RewindJob = {
  readonly squashed: readonly SquashedChange[];
  readonly contested: ReadonlyMap<RelPath, string>;
  readonly record: Pick<RewindRecord, 'kind' | 'turn' | 'turns' | 'undoes'>;
  readonly options: RewindOptions;
};

/** Looks at every path that was changed, and plans. */
export function planFromDisk(
  workspace: Workspace,
  tree: Tree,
  { squashed, contested, options }: RewindJob,
): Plan {
  const selected = selectPaths(squashed, options.paths);
  const known = trustedHashes(workspace);
  const disk = new Map(selected.map(({ path }) => [path, lookAt(tree, path, known)] as const));
  const { force, git } = options;
  return planRewind({ squashed: selected, disk, contested, force, git });
}

/**
 * Judges again what could not be reached: a directory that the turn had closed is open now, and most
 * of what is in it stands as it stood.
 */
export function lookAgain(
  workspace: Workspace,
  tree: Tree,
  seen: { job: RewindJob; plan: Plan },
): Plan {
  const { job, plan } = seen;
  const failed = new Set(
    plan.settled.flatMap(({ path, outcome }) => (outcome === 'failed' ? [path] : [])),
  );
  if (failed.size === 0) return plan;
  tree.reset();
  const squashed = job.squashed.filter(({ path }) => failed.has(path));
  const again = planFromDisk(workspace, tree, { ...job, squashed });
  const settled = plan.settled.filter(({ path }) => !failed.has(path));
  const left = again.changes.map(({ path }) => ({
    path,
    outcome: 'failed' as const,
    reason: 'it can be reached only now: run the rewind again',
  }));
  return { ...plan, settled: [...settled, ...again.settled, ...left] };
}

/**
 * Makes sure, before the first write, that every byte to be put back is there and whole, and that
 * every byte about to go is safe.
 */
export function prepareRewind(
  workspace: Workspace,
  job: { readonly tree: Tree; readonly writer: PackWriter; readonly plan: Plan },
): { readonly changes: PlannedChange[]; readonly refused: Outcome[] } {
  const changes: PlannedChange[] = [];
  const refused: Outcome[] = [];
  for (const change of job.plan.changes) {
    const { path, to } = change;
    if (to.kind === 'content' && to.type === 'file' && !workspace.packs.has(to.sha256)) {
      const reason = 'its pre-image is missing from the store; see: preimage verify';
      refused.push({ path, outcome: 'failed', reason });
      continue;
    }
    const captured = captureFrom(job.tree, job.writer, change);
    if (captured.kind === 'captured') changes.push(captured.change);
    else refused.push({ path, outcome: captured.kind, reason: captured.reason });
  }
  changes.push(...loansFor(job.tree, changes));
  changes.sort((a, b) => comparePaths(a.path, b.path));
  return { changes, refused };
}

/** Plans to close again the directories that have to be opened for the others to be done. */
function loansFor(tree: Tree, changes: readonly PlannedChange[]): PlannedChange[] {
  const planned = new Set(changes.map(({ path }) => path));
  return directoriesOf(changes).flatMap((path) => {
    const image = planned.has(path) ? 'open' : closedDirectory(tree, path);
    return image === 'open' ? [] : [{ path, from: image, to: image, stamp: '', links: 1 }];
  });
}
