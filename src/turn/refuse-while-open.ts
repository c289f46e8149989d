import { type History, openSteps } from '../core/history.js';
import { PreimageError } from '../core/problem.js';

/** Throws `busy` where a step is open: whoever has it open may be writing. */
export function refuseWhileOpen(history: History): void {
  const [open] = openSteps(history);
  if (open === undefined) return;
  const { turn } = open.open;
  if (open.kind === 'rewind') {
    throw new PreimageError('busy', 'Another rewind is running in this workspace.', {
      hint: 'Wait until it has finished, then try again.',
    });
  }
  const hint =
    open.open.owner === null
      ? `Close it first: preimage close --turn ${turn}`
      : `Wait until process ${open.open.owner.pid} has finished, then try again.`;
  throw new PreimageError('busy', `Turn ${turn} is still open (step ${open.id}).`, { hint });
}
