import { openSteps } from '../core/history.js';
import type { Manifest } from '../core/manifest.js';
import { FLAG, KEY } from '../core/manifest-columns.js';
import type { OpenRecord } from '../core/records.js';
import type { ByteString, RelPath } from '../core/relpath.js';
import type { Retention } from '../core/retention.js';
import type { Rules } from '../core/rules.js';
import { sharedWritableInodes } from '../files/mappings.js';
import { stampTrust } from '../files/stamps.js';
import { type Located, locate, type WhichWorkspace } from './locate.js';
import { type RecoveredStep, recover } from './recover.js';
import {
  type RuleOptions,
  resolveRetention,
  resolveRules,
  resolveScan,
  type ScanSetting,
} from './settings.js';
import { type StoreSizes, storeSizes } from './store-size.js';
import { saying } from './system-trouble.js';
import { Workspace } from './workspace.js';

/** What is known of a workspace. */
export type Status = {
  readonly root: ByteString;
  readonly store: string;
  /** False where nothing was recorded yet: everything below is then empty. */
  readonly exists: boolean;
  readonly openTurns: readonly OpenTurnStatus[];
  readonly turns: number;
  readonly baseline: BaselineStatus | 'none';
  readonly sizes: StoreSizes;
  /** How much history is kept after a close; older turns go, those beyond it by a tenth at once. */
  readonly retention: Retention;
  /** The watcher of the last step, or `none`. */
  readonly watcher: string;
  /** How openings find what changed, and what came of it at the last one that asked watchman. */
  readonly scan: { readonly by: ScanSetting; readonly last: OpenRecord['watchman'] };
  readonly rules: Rules;
  /** Paths that the last scan left out or could not capture, with the reason; not all if many. */
  readonly leftOut: readonly { readonly path: RelPath; readonly reason: string }[];
  readonly leftOutCount: number;
  /** What openings had no time to copy by now; it is among what is left out, named last. */
  readonly overBudget: { readonly files: number; readonly bytes: number };
  readonly recovered: readonly RecoveredStep[];
  /** Limits of what can be seen here, in words. */
  readonly limits: readonly string[];
};

/** A turn that has an open step. */
type OpenTurnStatus = { readonly turn: string; readonly step: number; readonly at: string };

/** The workspace as last scanned. */
type BaselineStatus = {
  readonly files: number;
  readonly bytes: number;
  /** ISO time. */
  readonly at: string;
};

/** Tells how a workspace stands; recovers steps that were left open by a crash. Makes no store. */
export async function workspaceStatus(which: WhichWorkspace & RuleOptions): Promise<Status> {
  const located = locate(which);
  const rules = resolveRules(located.root, which);
  if (located.existing === 'none') return emptyStatus(located, rules);
  const workspace = new Workspace(located, located.existing);
  try {
    return await saying('read the store', 'Try again.', async () => {
      const recovered = await recover(workspace);
      return { ...readStatus(workspace, rules), recovered };
    });
  } finally {
    workspace.close();
  }
}

/** How many paths that are left out are named. */
const NAMED = 50;
/** What waits for its time is told by its count: a few show what it is. */
const NAMED_LATE = 5;

function readStatus(workspace: Workspace, rules: Rules): Status {
  const { layout } = workspace;
  const state = workspace.readLog();
  const baseline = workspace.baseline(state);
  const skipped = baseline === 'none' ? NOTHING_SKIPPED : skippedIn(baseline.manifest);
  const last = state.history.steps.filter((step) => step.kind === 'work').at(-1);
  return {
    ...emptyStatus(workspace.located, rules),
    exists: true,
    openTurns: openSteps(state.history).map(({ id, open }) => ({
      turn: open.turn,
      step: id,
      at: open.at,
    })),
    turns: state.history.turns.size,
    baseline:
      baseline === 'none'
        ? 'none'
        : {
            files: baseline.manifest.meta.files,
            bytes: baseline.manifest.meta.bytes,
            at: new Date(baseline.manifest.meta.takenAt).toISOString(),
          },
    sizes: storeSizes(layout),
    watcher: last?.open.watcher ?? 'none',
    scan: { by: resolveScan(layout.root), last: last?.open.watchman },
    ...skipped,
  };
}

type SkippedPaths = Pick<Status, 'leftOut' | 'leftOutCount' | 'overBudget'>;

const NOTHING_SKIPPED: SkippedPaths = {
  leftOut: [],
  leftOutCount: 0,
  overBudget: { files: 0, bytes: 0 },
};

function skippedIn(manifest: Manifest): SkippedPaths {
  const byRule: number[] = [];
  const late: number[] = [];
  let bytes = 0;
  for (let i = 0; i < manifest.count; i++) {
    if (!manifest.has(i, FLAG.skipped | FLAG.unlisted)) continue;
    if (!manifest.isOverBudget(i)) {
      byRule.push(i);
      continue;
    }
    late.push(i);
    bytes += Number(manifest.key(i, KEY.size));
  }
  // What will be copied soon must not hide what never will be.
  const named = [...byRule, ...late.slice(0, NAMED_LATE)].slice(0, NAMED);
  return {
    leftOut: named.map((i) => ({ path: manifest.path(i), reason: manifest.text(i) })),
    leftOutCount: byRule.length + late.length,
    overBudget: { files: late.length, bytes },
  };
}

function emptyStatus({ root, storeDirectory }: Located, rules: Rules): Status {
  return {
    root,
    store: storeDirectory,
    exists: false,
    openTurns: [],
    turns: 0,
    baseline: 'none',
    sizes: { packs: 0, manifests: 0, log: 0, trash: 0 },
    retention: resolveRetention(root),
    watcher: 'none',
    scan: { by: resolveScan(root), last: undefined },
    rules,
    ...NOTHING_SKIPPED,
    recovered: [],
    limits: limitsOf(root),
  };
}

function limitsOf(root: ByteString): string[] {
  const limits: string[] = [];
  const trust = stampTrust(root);
  if (trust.kind === 'untrusted') {
    limits.push(`${trust.fileSystem}: no stamp is trusted; every file is read each time`);
  }
  if (!sharedWritableInodes().complete) {
    limits.push('changes through other users’ memory maps may be seen late');
  }
  return limits;
}
