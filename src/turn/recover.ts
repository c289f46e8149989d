import { openSteps, type Step } from '../core/history.js';
import { isAlive } from '../files/process-identity.js';
import { closeStep } from './close-step.js';
import { finishRewind } from './finish-rewind.js';
import type { Workspace } from './workspace.js';

/** A step without a process of its own that nobody closed for so long is closed by the next command. */
const ABANDONED_MS = 24 * 60 * 60 * 1000;

/** A step that was left open and is closed now. */
export type RecoveredStep = { readonly step: number; readonly turn: string };

/**
 * Closes the steps whose process died, and those of hooks that nobody closed in a day or whose turn is
 * opened anew (`reopening`): their pre-images are those of their stored manifest. A rewind that was
 * cut off is finished from its journal.
 */
export async function recover(
  workspace: Workspace,
  options: { readonly reopening?: string } = {},
): Promise<RecoveredStep[]> {
  const recovered: RecoveredStep[] = [];
  for (const step of openSteps(workspace.readLog().history)) {
    if (!isDead(step, options.reopening)) continue;
    if (step.kind === 'rewind') {
      finishRewind(workspace, step);
    } else {
      await closeStep(workspace, step, { exitCode: 'none', recovered: true, onProgress: () => {} });
    }
    recovered.push({ step: step.id, turn: step.open.turn });
  }
  return recovered;
}

function isDead(step: Step, reopening: string | undefined): boolean {
  const { owner, at, turn } = step.open;
  if (owner !== null) return !isAlive(owner);
  return (step.kind === 'work' && turn === reopening) || Date.now() - Date.parse(at) > ABANDONED_MS;
}
