import type { ScanProgress } from '../scan/request.js';
import type { Backend, WatchEvent } from '../watch/watcher.js';
import { type ClosedStep, closeStep } from './close-step.js';
import { HostReader } from './host-client.js';
import type { WhichWorkspace } from './locate.js';
import { type OpenedStep, openStep } from './open-step.js';
import { type CommandResult, runCommand, waitForSignal } from './run-command.js';
import { type RuleOptions, resolveRules } from './settings.js';
import { openWorkspace, type Workspace } from './workspace.js';

/** How a command is watched. */
export type WatchCommandOptions = WhichWorkspace &
  RuleOptions & {
    /** The next free id if left out. */
    readonly turn?: string;
    readonly label?: string;
    readonly watcher?: Backend | 'default' | 'none';
    readonly onProgress?: (progress: ScanProgress) => void;
    /** Called when all old bytes are safe, before anything runs. */
    readonly onOpen?: (opened: OpenedStep) => void;
  };

/** What came of a watched command. */
export type Watched = {
  readonly turn: string;
  readonly result: CommandResult;
  /** The step as it was closed, or why it could not be: then the next command recovers it. */
  readonly closing: ClosedStep | { readonly kind: 'left-open'; readonly error: unknown };
  readonly warnings: readonly string[];
};

/** Opens a step, runs a command with the terminal, closes the step. */
export async function watchCommand(
  command: readonly string[],
  options: WatchCommandOptions,
): Promise<Watched> {
  const workspace = openWorkspace(options);
  try {
    const opened = await open(workspace, options, { kind: 'command', command });
    const { result, release } = await runCommand(command, workspace.located.cwd);
    try {
      return await close(workspace, opened, { result, exitCode: result.exitCode, options });
    } finally {
      release();
    }
  } finally {
    workspace.close();
  }
}

/** Opens a step and shows what happens until Ctrl-C, SIGTERM or SIGHUP, then closes the step. */
export async function watchUntilSignal(
  options: WatchCommandOptions & {
    readonly onEvents: (events: readonly WatchEvent[]) => void;
  },
): Promise<Watched> {
  const workspace = openWorkspace(options);
  try {
    const opened = await open(workspace, options, { kind: 'session', command: [] });
    const host = new HostReader(opened.control);
    const timer = setInterval(() => {
      const count = host.update();
      if (count > 0) options.onEvents(host.events.slice(-count));
    }, EVENTS_MS);
    await waitForSignal();
    clearInterval(timer);
    const result = { kind: 'exited', exitCode: 0 } as const;
    return await close(workspace, opened, { result, exitCode: 'none', options });
  } finally {
    workspace.close();
  }
}

/** How often new events are looked for. */
const EVENTS_MS = 100;

async function open(
  workspace: Workspace,
  options: WatchCommandOptions,
  what: { readonly kind: 'command' | 'session'; readonly command: readonly string[] },
): Promise<OpenedStep> {
  const opened = await openStep(workspace, {
    turn: options.turn ?? 'next',
    label: options.label ?? '',
    ...what,
    rules: resolveRules(workspace.root, options),
    owned: true,
    watcher: options.watcher ?? 'default',
    onProgress: options.onProgress ?? (() => {}),
  });
  options.onOpen?.(opened);
  return opened;
}

/** Closes; a failure is told and keeps the command's result. */
async function close(
  workspace: Workspace,
  opened: OpenedStep,
  end: {
    readonly result: CommandResult;
    readonly exitCode: number | 'none';
    readonly options: WatchCommandOptions;
  },
): Promise<Watched> {
  const { turn, step: id } = opened.record;
  const { result, exitCode, options } = end;
  const warnings = opened.scanned.warnings;
  try {
    const step = workspace.readLog().history.steps.find((candidate) => candidate.id === id);
    if (step?.kind !== 'work') throw new Error('the step is not in the log any more');
    const closed = await closeStep(workspace, step, {
      exitCode,
      recovered: false,
      onProgress: options.onProgress ?? (() => {}),
    });
    if (closed === 'gone') throw new Error('another process closed the step');
    return { turn, result, closing: closed, warnings };
  } catch (error) {
    return { turn, result, closing: { kind: 'left-open', error }, warnings };
  }
}
