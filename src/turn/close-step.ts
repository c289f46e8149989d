import type { Change } from '../core/change.js';
import { diffManifests } from '../core/diff.js';
import type { WorkStep } from '../core/history.js';
import type { Manifest } from '../core/manifest.js';
import { FLAG } from '../core/manifest-columns.js';
import { PreimageError } from '../core/problem.js';
import type { CloseRecord } from '../core/records.js';
import { type RelPath, toText } from '../core/relpath.js';
import { findBreaches, type RunRules } from '../core/run-rules.js';
import { openTree } from '../files/tree.js';
import type { EarlyHash, ScanProgress } from '../scan/request.js';
import { BigFiles } from '../store/big-files.js';
import { storeChanges, writeDetail } from '../store/details.js';
import { sweepManifests } from '../store/manifests.js';
import { PackWriter, syncPack } from '../store/pack-writer.js';
import { SpoolReader } from '../store/spool.js';
import { coveredBy } from '../watch/reduce.js';
import { judgeTimeline, MAX_EVENTS } from '../watch/timeline.js';
import type { WatchEvent } from '../watch/watcher.js';
import { readCaptures, withCaptures } from './captures.js';
import {
  type Control,
  controlOf,
  DraftLineSchema,
  EarlyLineSchema,
  removeControl,
} from './control.js';
import { noteRepositories } from './git-notes.js';
import { orGiveUp } from './given-up.js';
import { HostReader } from './host-client.js';
import { removeStaged } from './leftovers.js';
import { recallSkipped } from './recall.js';
import { type Scanned, scanIntoStore } from './scan-into-store.js';
import { scanUntilSettled } from './settle.js';
import { saying } from './system-trouble.js';
import { tidyUp } from './tidy-up.js';
import { encodeEvents } from './timeline-events.js';
import type { Workspace } from './workspace.js';

/** How a step is to be closed. */
export type CloseOptions = {
  /** The command's own code, `none` where there was no command or it is not known. */
  readonly exitCode: number | 'none';
  /** The step is closed by somebody else after its process died. */
  readonly recovered: boolean;
  /** What the run was allowed to change. */
  readonly rules: RunRules;
  readonly onProgress: (progress: ScanProgress) => void;
};

/** A step that is closed: what changed in it. */
export type ClosedStep = {
  readonly record: CloseRecord;
  readonly changes: readonly Change[];
  /** Trouble with clearing the store up after it: the step itself is closed and whole. */
  readonly notes: readonly string[];
};

/**
 * Closes a step: scans, finds exactly what changed since it opened, makes the post-images durable and
 * writes the checkpoint into the log. `gone` where another process closed it meanwhile.
 */
export function closeStep(
  workspace: Workspace,
  step: WorkStep,
  options: CloseOptions,
): Promise<ClosedStep | 'gone'> {
  const next = 'Its old bytes are safe, and it stays open; try again.';
  return saying(`close turn ${step.open.turn}`, next, () =>
    orGiveUp(workspace.layout.log, step.id, () => close(workspace, step, options)),
  );
}

async function close(
  workspace: Workspace,
  step: WorkStep,
  options: CloseOptions,
): Promise<ClosedStep | 'gone'> {
  const { open } = step;
  const { layout } = workspace;
  const opened = workspace.manifest(open.manifest);
  if (opened === 'missing') {
    throw new PreimageError(
      'damaged',
      `The manifest of step ${step.id} is missing from the store.`,
    );
  }
  const control = controlOf(layout, open.control);
  removeDrafts(workspace, step.id, control);
  const host = new HostReader(control);
  const { scanned, cookieSeen, unsettled } = await scanUntilSettled<Scanned>(
    workspace.root,
    host,
    (previous) =>
      scanIntoStore(workspace, {
        rules: open.rules,
        baseline: previous === 'none' ? { id: open.manifest, manifest: opened } : previous,
        keepCoverage: true,
        early: readEarly(workspace, control),
        // The truth about a step is a look at every file, whoever was asked at its opening.
        told: 'none',
        clock: open.watchman?.clock ?? '',
        newClock: false,
        round: step.id,
        begins: false,
        budget: 'none',
        onProgress: options.onProgress,
      }),
  );
  const changes = addCaptures(workspace, control, {
    opened,
    changes: recallSkipped(layout.big, diffManifests(opened, scanned.manifest), {
      opened,
      closed: scanned.manifest,
    }),
  });
  const timeline = judge(workspace, step, { host, cookieSeen, changes });
  host.end();
  const ref = storeChanges(layout.details, changes);
  const record: CloseRecord = {
    type: 'close',
    step: step.id,
    at: new Date().toISOString(),
    recovered: options.recovered,
    exitCode: options.exitCode === 'none' ? null : options.exitCode,
    changes: ref.kind === 'inline' ? { kind: 'inline', changes: [...changes] } : { ...ref },
    manifest: scanned.id,
    timeline,
    unsettled,
    leftOut: scanned.manifest.leftOut(MOST_LEFT_OUT),
    warnings: [...scanned.warnings],
    repositories: noteRepositories(changes, {
      opened,
      closed: scanned.manifest,
      packs: workspace.packs,
    }),
    broken: findBreaches(changes, options.rules),
  };
  const named = new Set<string>([scanned.id]);
  let othersAreOpen = false;
  const written = workspace.append(({ history }) => {
    const now = history.steps.find(({ id }) => id === step.id);
    if (now?.end.kind !== 'open') return 'nothing';
    for (const other of history.steps) {
      if (other.kind !== 'work' || other.end.kind !== 'open') continue;
      named.add(other.open.manifest);
      othersAreOpen ||= other.id !== step.id;
    }
    return record;
  });
  removeControl(control);
  if (written === 'nothing') return 'gone';
  sweepManifests(layout.manifests, named);
  // Another open step may still want the links of what stood when it opened.
  if (!othersAreOpen) new BigFiles(layout.big).sweepLinks(largeInodes(scanned.manifest));
  // A step that is recovered is closed by somebody who is about to do something else.
  const notes = options.recovered ? [] : tidyUp(workspace, scanned.manifest.meta.bytes);
  return { record, changes, notes };
}

/** Names the inodes of files over the limit that stand now, as their links are named. */
function largeInodes(manifest: Manifest): Set<string> {
  const inodes = new Set<string>();
  for (let i = 0; i < manifest.count; i++) {
    if (manifest.has(i, FLAG.tooLarge)) inodes.add(manifest.inode(i).replace(':', '-'));
  }
  return inodes;
}

/** How many directories that were left out a step names. */
const MOST_LEFT_OUT = 50;

/** Reads the hashes that the host made, and makes the bytes that they name durable. */
function readEarly({ layout, packs }: Workspace, control: Control): Map<RelPath, EarlyHash> {
  const early = new Map<RelPath, EarlyHash>();
  const named = new Set<number>();
  for (const line of new SpoolReader(control.early, EarlyLineSchema).read()) {
    const { path, stamp, sha256, settled, pack } = line;
    early.set(path, { stamp, sha256, settled });
    if (pack !== 0) named.add(pack);
  }
  const durable = [...named].filter((pack) => syncPack(layout.packs, pack));
  if (durable.length > 0) packs.vouch(durable);
  return early;
}

/** Removes what a session of the library that was cut off has staged and not moved into place. */
function removeDrafts({ root }: Workspace, step: number, control: Control): void {
  const drafts = new SpoolReader(control.drafts, DraftLineSchema).read();
  if (drafts.length === 0) return;
  const tree = openTree(root);
  try {
    removeStaged(
      tree,
      step,
      drafts.map(({ path }) => path),
    );
  } finally {
    tree.close();
  }
}

function addCaptures(
  { layout, packs, root }: Workspace,
  control: Control,
  { opened, changes }: { readonly opened: Manifest; readonly changes: readonly Change[] },
): readonly Change[] {
  const captures = readCaptures(control);
  if (captures.size === 0) return changes;
  const writer = new PackWriter(layout.packs, (sha256) => packs.holds(sha256));
  const tree = openTree(root);
  try {
    const merged = withCaptures(changes, captures, { opened, tree, writer });
    writer.sync();
    writer.close();
    return merged;
  } finally {
    tree.close();
  }
}

function judge(
  { layout }: Workspace,
  { open }: WorkStep,
  seen: {
    readonly host: HostReader;
    readonly cookieSeen: boolean;
    readonly changes: readonly Change[];
  },
): CloseRecord['timeline'] {
  const { host, cookieSeen, changes } = seen;
  const events: readonly WatchEvent[] = host.events;
  const covered = coveredBy(events);
  const uncovered = changes
    .map(({ path }) => toText(path).text)
    .filter((path) => path !== '' && !covered(path));
  const watcher = host.verdict();
  const judgement = judgeTimeline({
    watcher: open.watcher === 'none' && host.fate === 'starting' ? NOT_WATCHED : watcher,
    ready: open.watcher !== 'none',
    troubles: host.troubles,
    cookieSeen,
    eventCount: events.length,
    uncovered,
  });
  const kept = events.slice(0, MAX_EVENTS);
  return {
    complete: judgement.complete,
    reason: judgement.complete ? '' : judgement.reason,
    watcher: watcher.kind === 'watched' ? watcher.backend : open.watcher,
    events: kept.length === 0 ? null : writeDetail(layout.details, encodeEvents(kept)),
  };
}

const NOT_WATCHED = { kind: 'scan-only', reason: 'no watcher was asked for' } as const;
