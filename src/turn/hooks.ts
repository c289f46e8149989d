import type { WorkStep } from '../core/history.js';
import { PreimageError } from '../core/problem.js';
import { NO_RUN_RULES } from '../core/run-rules.js';
import { isAlive } from '../files/process-identity.js';
import type { ScanProgress } from '../scan/request.js';
import type { Backend } from '../watch/watcher.js';
import { type ClosedStep, closeStep } from './close-step.js';
import type { HostProcess } from './host-process.js';
import type { WhichWorkspace } from './locate.js';
import { checkTurnId, type OpenedStep, openStep } from './open-step.js';
import { recover } from './recover.js';
import { type BudgetOptions, type RuleOptions, resolveBudget, resolveRules } from './settings.js';
import { openKnownWorkspace, openWorkspace } from './workspace.js';

/** How a step is opened by one call and closed by another. */
export type HookOptions = WhichWorkspace &
  RuleOptions &
  BudgetOptions & {
    readonly turn: string;
    readonly label?: string;
    readonly watcher?: Backend | 'default' | 'none';
    /** A watcher host that is coming up already, to save its start. */
    readonly host?: HostProcess | undefined;
    readonly onProgress?: (progress: ScanProgress) => void;
  };

/** Opens a step that outlives this process; {@link closeTurn} or the next command closes it. */
export async function openHook(options: HookOptions): Promise<OpenedStep> {
  const workspace = openWorkspace(options);
  try {
    return await openStep(workspace, {
      turn: options.turn,
      label: options.label ?? '',
      kind: 'hook',
      command: [],
      rules: resolveRules(workspace.root, options),
      owned: false,
      watcher: options.watcher ?? 'default',
      host: options.host,
      budget: resolveBudget(workspace.root, options),
      onProgress: options.onProgress ?? (() => {}),
    });
  } finally {
    workspace.close();
  }
}

/** Closes the open step of a turn; throws `no-such-turn` where nothing of it is open. */
export async function closeTurn(
  options: WhichWorkspace & {
    readonly turn: string;
    readonly onProgress?: (progress: ScanProgress) => void;
  },
): Promise<ClosedStep> {
  checkTurnId(options.turn);
  const workspace = openKnownWorkspace(options);
  try {
    const recovered = await recover(workspace);
    const { history } = workspace.readLog();
    const open = history.turns.get(options.turn)?.steps.filter((step) => step.end.kind === 'open');
    const step = open?.findLast(({ open: { owner } }) => owner === null);
    if (step === undefined) throw nothingOpen(options.turn, open ?? [], recovered.length > 0);
    const closed = await closeStep(workspace, step, {
      exitCode: 'none',
      recovered: false,
      rules: NO_RUN_RULES,
      onProgress: options.onProgress ?? (() => {}),
    });
    if (closed !== 'gone') return closed;
    throw nothingOpen(options.turn, [], false);
  } finally {
    workspace.close();
  }
}

function nothingOpen(turn: string, owned: readonly WorkStep[], recovered: boolean): PreimageError {
  const owner = owned.find(({ open }) => open.owner !== null && isAlive(open.owner))?.open.owner;
  const hint =
    owner !== undefined && owner !== null
      ? `Process ${owner.pid} has a step of it open and will close it itself.`
      : recovered
        ? 'What a crash had left open was recovered just now; see: preimage list'
        : `Open it first: preimage open --turn ${turn}`;
  return new PreimageError('no-such-turn', `Nothing is open in turn ${turn}.`, { hint });
}
