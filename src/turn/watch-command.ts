import type { Breach, RunRules } from '../core/run-rules.js';
import type { ScanProgress } from '../scan/request.js';
import type { Backend } from '../watch/watcher.js';
import { type ClosedStep, closeStep } from './close-step.js';
import { Guard } from './guard.js';
import type { HostProcess } from './host-process.js';
import type { WhichWorkspace } from './locate.js';
import { type OpenedStep, openStep } from './open-step.js';
import { type RewindResult, rewindStep } from './rewind.js';
import { type CommandResult, runCommand } from './run-command.js';
import {
  type BudgetOptions,
  type RuleOptions,
  type RunRuleOptions,
  resolveBudget,
  resolveRules,
  resolveRunRules,
} from './settings.js';
import { openWorkspace, type Workspace } from './workspace.js';

/** How a command is watched. */
export type WatchCommandOptions = WhichWorkspace &
  RuleOptions &
  BudgetOptions &
  RunRuleOptions & {
    /** The next free id if left out. */
    readonly turn?: string;
    readonly label?: string;
    readonly watcher?: Backend | 'default' | 'none';
    /** A watcher host that is coming up already, to save its start. */
    readonly host?: HostProcess | undefined;
    readonly onProgress?: (progress: ScanProgress) => void;
    /** Puts everything back where the command fails or breaks a rule. */
    readonly atomic?: boolean;
    /** Ends the command once the watcher sees a change of what no run may change. */
    readonly stopOnDeny?: boolean;
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
  /** What the run might change. */
  readonly rules: RunRules;
  /** What was changed against that. */
  readonly broken: readonly Breach[];
  /** What the command was ended early for, where it was. */
  readonly stoppedFor: Breach | 'none';
  /** What came of putting everything back, where that was asked for and needed. */
  readonly putBack: RewindResult | { readonly kind: 'failed'; readonly error: unknown } | 'none';
};

/** Opens a step, runs a command with the terminal, closes the step. */
export async function watchCommand(
  command: readonly string[],
  options: WatchCommandOptions,
): Promise<Watched> {
  const workspace = openWorkspace(options);
  try {
    const opened = await openWatched(workspace, options, { kind: 'command', command });
    const rules = resolveRunRules(workspace.root, options);
    const guard = options.stopOnDeny === true ? new Guard(opened, rules) : undefined;
    const { result, release } = await runCommand(command, workspace.located.cwd, (stop) => {
      guard?.start(stop);
    });
    guard?.end();
    try {
      const end = { result, exitCode: result.exitCode, rules, options };
      const watched = await closeWatched(workspace, opened, end);
      const done = { ...watched, stoppedFor: guard?.seen ?? 'none' } as const;
      const failed = result.exitCode !== 0 || done.broken.length > 0;
      if (options.atomic !== true || !failed || 'kind' in done.closing) return done;
      return { ...done, putBack: await putBack(workspace, opened) };
    } finally {
      release();
    }
  } finally {
    workspace.close();
  }
}

/** Opens the step of a watch. */
export async function openWatched(
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
    host: options.host,
    budget: resolveBudget(workspace.root, options),
    onProgress: options.onProgress ?? (() => {}),
  });
  options.onOpen?.(opened);
  return opened;
}

/** Closes; a failure is told and keeps the command's result. */
export async function closeWatched(
  workspace: Workspace,
  opened: OpenedStep,
  end: {
    readonly result: CommandResult;
    readonly exitCode: number | 'none';
    readonly rules: RunRules;
    readonly options: WatchCommandOptions;
  },
): Promise<Watched> {
  const { turn, step: id } = opened.record;
  const { result, exitCode, rules, options } = end;
  const { warnings } = opened.scanned;
  const rest = { turn, result, warnings, rules, stoppedFor: 'none', putBack: 'none' } as const;
  try {
    const step = workspace.readLog().history.steps.find((candidate) => candidate.id === id);
    if (step?.kind !== 'work') throw new Error('the step is not in the log any more');
    const closed = await closeStep(workspace, step, {
      exitCode,
      recovered: false,
      rules,
      onProgress: options.onProgress ?? (() => {}),
    });
    if (closed === 'gone') throw new Error('another process closed the step');
    return { ...rest, closing: closed, broken: closed.record.broken };
  } catch (error) {
    return { ...rest, closing: { kind: 'left-open', error }, broken: [] };
  }
}

/** Puts back all that a step changed, repositories and times included: as if it had not run. */
async function putBack(workspace: Workspace, { record }: OpenedStep): Promise<Watched['putBack']> {
  const options = { paths: [], dryRun: false, force: false, merge: false, onProgress: () => {} };
  try {
    return await rewindStep(workspace, record.step, { ...options, git: true, preserveMtime: true });
  } catch (error) {
    return { kind: 'failed', error };
  }
}
