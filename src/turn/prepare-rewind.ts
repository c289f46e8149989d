import type { Change } from '../core/change.js';
import type { Step } from '../core/history.js';
import type { FileImage } from '../core/image.js';
import type { Manifest } from '../core/manifest.js';
import type { Outcome } from '../core/outcome.js';
import { type Plan, planRewind } from '../core/plan.js';
import type { PlannedChange } from '../core/planned.js';
import type { RewindRecord } from '../core/records.js';
import { comparePaths, type RelPath } from '../core/relpath.js';
import { selectPaths } from '../core/select-paths.js';
import type { SquashedChange } from '../core/squash.js';
import { lookAtAll } from '../files/look-all.js';
import type { Tree } from '../files/tree.js';
import type { PackWriter } from '../store/pack-writer.js';
import { captureFrom } from './capture-from.js';
import { seeIndexes } from './git-index.js';
import { findGitUse, type GitUse, NO_GIT_USE } from './git-use.js';
import { type LaterMerges, mergeLater, NO_MERGES } from './merge-later.js';
import { findHindered } from './preflight.js';
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
  /** Merges text files that somebody else edited, where that comes out clean. */
  readonly merge: boolean;
  /** Gives files that are put back their recorded modification time, not that of the rewind. */
  readonly preserveMtime: boolean;
  readonly onProgress: (done: number, total: number) => void;
};

/** What a rewind or a redo has to do. */
export type RewindJob = {
  readonly squashed: readonly SquashedChange[];
  /** All steps from the first of those on, undone or not. */
  readonly since: readonly Step[];
  readonly contested: ReadonlyMap<RelPath, string>;
  readonly record: Pick<RewindRecord, 'kind' | 'turn' | 'turns' | 'undoes'>;
  readonly options: RewindOptions;
};

/** A plan with what it needs beside the history. */
export type ReadyPlan = Plan & { readonly merges: LaterMerges; readonly gitUse: GitUse };

/** Looks at every path that was changed, and plans. */
export function planFromDisk(workspace: Workspace, tree: Tree, job: RewindJob): ReadyPlan {
  const { contested, options, since } = job;
  const { force, git } = options;
  const { packs } = workspace;
  const selected = selectPaths(job.squashed, options.paths);
  const known = trustedHashes(workspace);
  const disk = lookAtAll(
    tree,
    selected.map(({ path }) => path),
    known,
  );
  const none = { squashed: selected, seenAs: new Map() };
  const { squashed, seenAs } = git ? seeIndexes(selected, disk, { tree, packs }) : none;
  const uncontested = squashed.filter(({ path }) => !contested.has(path));
  const merges = options.merge ? mergeLater(uncontested, disk, { tree, packs }) : NO_MERGES;
  const baseline = (): Manifest | 'none' => {
    const newest = workspace.baseline(workspace.readLog());
    return newest === 'none' ? 'none' : newest.manifest;
  };
  const changesOf = (step: Step): readonly Change[] => workspace.changes(step);
  const seen = { since, changesOf, disk, seenAs, tree, known, baseline };
  const gitUse = git ? findGitUse(squashed, seen) : NO_GIT_USE;
  const { merged } = merges;
  const { inUse } = gitUse;
  const request = { squashed, disk, contested, seenAs, merged, inUse, force, git };
  const free = planRewind({ ...request, hindered: new Map() });
  const hindered = findHindered(tree, free.changes);
  const plan = hindered.size === 0 ? free : planRewind({ ...request, hindered });
  return { ...plan, merges, gitUse };
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
  job: { readonly tree: Tree; readonly writer: PackWriter; readonly plan: ReadyPlan },
): { readonly changes: PlannedChange[]; readonly refused: Outcome[] } {
  const changes: PlannedChange[] = [];
  const refused: Outcome[] = [];
  const mergedInto = ({ sha256 }: FileImage): Uint8Array | undefined =>
    job.plan.merges.bytes.get(sha256);
  for (const change of job.plan.changes) {
    const { path, to } = change;
    const merged = to.kind === 'content' && to.type === 'file' ? mergedInto(to) : undefined;
    if (merged !== undefined) {
      job.writer.add(merged);
    } else if (to.kind === 'content' && to.type === 'file' && !workspace.packs.has(to.sha256)) {
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
