import type { Step } from '../core/history.js';
import { openSteps } from '../core/history.js';
import { printable } from '../core/printable.js';
import { PreimageError } from '../core/problem.js';
import type { LogRecord, OpenRecord } from '../core/records.js';
import { toText } from '../core/relpath.js';
import type { Rules } from '../core/rules.js';
import { isTurnId, nextTurnId } from '../core/turn-id.js';
import { isAlive, ownIdentity } from '../files/process-identity.js';
import { stampTrust } from '../files/stamps.js';
import type { ScanProgress } from '../scan/request.js';
import type { Backend } from '../watch/watcher.js';
import { type AskedFirst, askFirst, NOT_ASKED, notToldOf } from './changed-since.js';
import { type Control, makeControl, removeControl } from './control.js';
import { HostReader, startHost } from './host-client.js';
import type { HostProcess } from './host-process.js';
import { recover } from './recover.js';
import { type Scanned, scanIntoStore } from './scan-into-store.js';
import { sweepLeftovers } from './sweep-leftovers.js';
import { saying } from './system-trouble.js';
import { type LogState, type NamedManifest, nextStepId, type Workspace } from './workspace.js';

/** How a step is to be opened. */
export type OpenOptions = {
  /** `next` for the next free id of the form t1, t2, …. */
  readonly turn: string | 'next';
  readonly label: string;
  readonly kind: OpenRecord['kind'];
  readonly command: readonly string[];
  readonly rules: Rules;
  /** Whether the step belongs to this process: if that dies, the step is recovered. */
  readonly owned: boolean;
  readonly watcher: Backend | 'default' | 'none';
  /** A watcher host that is coming up already. */
  readonly host?: HostProcess | undefined;
  /** Milliseconds for the scan, `none` for as long as it takes. */
  readonly budget: number | 'none';
  readonly onProgress: (progress: ScanProgress) => void;
};

/** A step that is open: its pre-images are safe. */
export type OpenedStep = {
  readonly record: OpenRecord;
  readonly control: Control;
  readonly scanned: Scanned;
};

/**
 * Opens a step: scans the workspace, makes every old byte durable, then names the manifest in the
 * log. From then on nothing that happens to this process loses a pre-image.
 */
export async function openStep(workspace: Workspace, options: OpenOptions): Promise<OpenedStep> {
  checkTurnId(options.turn);
  await recover(workspace, options.owned ? {} : { reopening: options.turn });
  return await saying('open the turn', 'Nothing was recorded; try again.', async () => {
    sweepLeftovers(workspace);
    const control = makeControl(workspace.layout);
    try {
      return await tryOpen(workspace, options, control);
    } catch (error) {
      removeControl(control);
      throw error;
    }
  });
}

/** Throws `usage` for a text that cannot be a turn's id. */
export function checkTurnId(turn: string): void {
  if (isTurnId(turn)) return;
  throw new PreimageError('usage', `${JSON.stringify(turn)} cannot be a turn's id.`, {
    hint: 'An id is 1 to 128 letters, digits and . _ : - characters.',
  });
}

/** How often an opening starts again because a rewind or a prune came in between. */
const OPEN_TRIES = 5;

async function tryOpen(
  workspace: Workspace,
  options: OpenOptions,
  control: Control,
): Promise<OpenedStep> {
  const first = workspace.readLog();
  const known = workspace.baseline(first);
  // Before our own watcher starts: watchman makes a file in the root for a moment, and removes it.
  const asked = await askFirst(workspace, known);
  const host = startWatching(workspace, options, control, known);
  for (let tries = 0; tries < OPEN_TRIES; tries++) {
    const state = tries === 0 ? first : workspace.readLog();
    refuseDuringRewind(state);
    // What watchman said was said of the first baseline.
    const isFirst = tries === 0;
    const by = isFirst ? asked : NOT_ASKED;
    const scanned = scanIntoStore(workspace, {
      rules: options.rules,
      baseline: isFirst ? known : workspace.baseline(state),
      keepCoverage: false,
      early: new Map(),
      ...by.scan,
      round: nextStepId(state),
      begins: true,
      budget: options.budget,
      onProgress: options.onProgress,
    });
    if (host !== 'none') await host.ready();
    const { untold } = scanned;
    const said = untold === '' ? by : notToldOf(printable(untold), by);
    const record = append(workspace, options, { control, scanned, state, host, said });
    if (record === 'nothing') continue;
    const warnings = [...said.warnings, ...scanned.warnings];
    return { record, control, scanned: { ...scanned, warnings } };
  }
  throw new PreimageError('busy', 'Rewinds or prunes keep running in this workspace.', {
    hint: 'Wait until they have finished, then try again.',
  });
}

function startWatching(
  workspace: Workspace,
  { watcher, host, rules, owned }: OpenOptions,
  control: Control,
  baseline: NamedManifest | 'none',
): HostReader | 'none' {
  if (watcher === 'none') return 'none';
  const task = {
    ignore: [workspace.layout.directory, ...leftOut(workspace, baseline)],
    rules: { include: [...rules.include], exclude: [...rules.exclude], maxFile: rules.maxFile },
    entries: baseline === 'none' ? 0 : baseline.manifest.count,
    stampsTrusted: stampTrust(workspace.root).kind === 'trusted',
    owner: owned ? ownIdentity() : null,
    prefer: watcher === 'default' ? null : watcher,
  };
  startHost(workspace.layout.directory, control, { task, ready: host });
  return new HostReader(control);
}

/** How many directories that are left out are named to the watcher; events of others are dropped. */
const MOST_IGNORED = 200;

/** Gives the directories that the last scan left out: nobody wants a watch on all of node_modules. */
function leftOut({ root }: Workspace, baseline: NamedManifest | 'none'): string[] {
  if (baseline === 'none') return [];
  return baseline.manifest.leftOut(MOST_IGNORED).map(({ path }) => toText(`${root}/${path}`).text);
}

type Appending = {
  readonly control: Control;
  readonly scanned: Scanned;
  readonly state: LogState;
  readonly host: HostReader | 'none';
  readonly said: AskedFirst;
};

/** Names the step in the log, unless a rewind wrote to the workspace while it was scanned. */
function append(
  workspace: Workspace,
  options: OpenOptions,
  { control, scanned, state, host, said }: Appending,
): OpenRecord | 'nothing' {
  let made: OpenRecord | 'nothing' = 'nothing';
  workspace.append((now): LogRecord | 'nothing' => {
    if (wasRewoundSince(now, state)) return 'nothing';
    made = {
      type: 'open',
      step: nextStepId(now),
      turn:
        options.turn === 'next'
          ? nextTurnId(now.history.turns.keys(), now.history.pruned.lastTurn)
          : options.turn,
      label: options.label,
      kind: options.kind,
      command: [...options.command],
      cwd: relativeCwd(workspace),
      at: new Date().toISOString(),
      owner: options.owned ? ownIdentity() : null,
      manifest: scanned.id,
      rules: {
        include: [...options.rules.include],
        exclude: [...options.rules.exclude],
        maxFile: options.rules.maxFile,
      },
      control: control.token,
      watcher: watcherName(host),
      ...(said.record === undefined ? {} : { watchman: said.record }),
    };
    return made;
  });
  return made;
}

/** Reports whether a rewind began since the log was read, or may have: its line may be dropped by now. */
function wasRewoundSince({ history }: LogState, before: LogState): boolean {
  const next = nextStepId(before);
  if (history.pruned.lastStep >= next) return true;
  return history.steps.some(({ kind, id }) => kind === 'rewind' && id >= next);
}

function watcherName(host: HostReader | 'none'): string {
  if (host === 'none' || host.fate === 'starting' || host.fate.kind !== 'watched') return 'none';
  return host.fate.backend;
}

function relativeCwd({ root, located }: Workspace): string {
  const { cwd } = located;
  if (!cwd.startsWith(`${root}/`)) return cwd === root ? '.' : toText(cwd).text;
  return toText(cwd.slice(root.length + 1)).text;
}

function refuseDuringRewind({ history }: LogState): void {
  const running = openSteps(history).find((step: Step) => step.kind === 'rewind');
  if (running === undefined) return;
  const { owner } = running.open;
  const who = owner !== null && isAlive(owner) ? ` (process ${owner.pid})` : '';
  throw new PreimageError('busy', `A rewind is running in this workspace${who}.`, {
    hint: 'Wait until it has finished, then try again.',
  });
}
