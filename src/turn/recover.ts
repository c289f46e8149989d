import { openSteps, type RewindStep, type Step } from '../core/history.js';
import type { Outcome } from '../core/outcome.js';
import { PreimageError } from '../core/problem.js';
import { NO_RUN_RULES } from '../core/run-rules.js';
import { isAlive } from '../files/process-identity.js';
import { closeStep } from './close-step.js';
import { controlOf, orphanedControls, removeControl } from './control.js';
import { finishRewind } from './finish-rewind.js';
import { isGivenUp } from './given-up.js';
import type { Workspace } from './workspace.js';

/** A step without a process of its own that nobody closed for so long is closed by the next command. */
const ABANDONED_MS = 24 * 60 * 60 * 1000;

/** A step that was left open and is closed now. */
export type RecoveredStep = {
  readonly step: number;
  readonly turn: string;
  /** Paths that a rewind has left out which was cut off and is finished now, or that it says more of. */
  readonly left: readonly Outcome[];
};

/**
 * Closes the steps whose process died, and those of hooks that nobody closed in a day or whose turn is
 * opened anew (`reopening`): their pre-images are those of their stored manifest. A rewind that was
 * cut off is finished from its journal; with `dryRun` it is named by an error, for that would change the
 * workspace.
 */
export async function recover(
  workspace: Workspace,
  options: { readonly reopening?: string; readonly dryRun?: boolean } = {},
): Promise<RecoveredStep[]> {
  const recovered: RecoveredStep[] = [];
  const orphans = orphanedControls(workspace.layout);
  const open = openSteps(workspace.readLog().history);
  sweepControls(workspace, orphans, open);
  for (const step of open) {
    const givenUp = isGivenUp(workspace.layout.log, step.id);
    if (!givenUp && !isDead(step, options.reopening)) continue;
    let left: readonly Outcome[] = [];
    if (step.kind === 'rewind') {
      if (options.dryRun === true) throw cutOff(step);
      left = finishRewind(workspace, step);
    } else {
      await closeStep(workspace, step, {
        exitCode: 'none',
        recovered: true,
        rules: NO_RUN_RULES,
        onProgress: () => {},
      });
    }
    recovered.push({ step: step.id, turn: step.open.turn, left });
  }
  return recovered;
}

function cutOff({ open }: RewindStep): PreimageError {
  const what = `A ${open.kind} of turn ${open.turn} was cut off and has to be finished first.`;
  return new PreimageError('busy', what, {
    hint: 'Every command that is no dry run finishes it, such as: preimage status',
  });
}

/** Removes what was left of steps that never opened, or whose closer died: their hosts end by that. */
function sweepControls(
  { layout }: Workspace,
  orphans: readonly string[],
  open: readonly Step[],
): void {
  const named = new Set(open.map((step) => (step.kind === 'work' ? step.open.control : '')));
  for (const token of orphans) {
    if (!named.has(token)) removeControl(controlOf(layout, token));
  }
}

function isDead(step: Step, reopening: string | undefined): boolean {
  const { owner, at, turn } = step.open;
  if (owner !== null) return !isAlive(owner);
  return (step.kind === 'work' && turn === reopening) || Date.now() - Date.parse(at) > ABANDONED_MS;
}
