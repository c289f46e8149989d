import { errnoOf, errnoWords, PreimageError } from '../core/problem.js';
import { chooseCut, type Retention, withSlack } from '../core/retention.js';
import { freedBy, hasManySmall, hasMuchRaw, planReclaim } from '../store/reclaim-plan.js';
import { Trash } from '../store/trash.js';
import { namedBy } from './named.js';
import { historySizes, pruneIfFree } from './prune.js';
import { resolveRetention } from './settings.js';
import { packsSize } from './store-size.js';
import type { LogState, Workspace } from './workspace.js';

/**
 * Prunes after a close, if a limit is passed by more than a tenth, something waits for its end, or many
 * small packs or much that is kept raw have gathered.
 * Never fails, for the step is closed: trouble comes back as warnings. `baseline` is the bytes of the
 * workspace as it stands.
 */
export function tidyUp(workspace: Workspace, baseline: number): string[] {
  try {
    const retention = resolveRetention(workspace.root);
    const limits = withSlack(retention);
    if (!isDue(workspace) && !isOver(workspace, limits, baseline)) return [];
    const result = pruneIfFree(workspace, retention);
    return result === 'held' ? [] : result.notes.map((note) => `prune: ${note}`);
  } catch (error) {
    if (error instanceof PreimageError && error.code === 'busy') return [];
    const known = errnoOf(error) === '' ? String(error) : errnoWords(error);
    return [`prune: ${error instanceof PreimageError ? error.message : known}`];
  }
}

/** Something waits for its deletion, or packs are so many that looking into them takes its time. */
function isDue({ layout }: Workspace): boolean {
  return new Trash(layout).isDue() || hasManySmall(layout.packs) || hasMuchRaw(layout.packs);
}

/** Looks at what costs little first: bytes are only counted where the packs as a whole are too many. */
function isOver(workspace: Workspace, limits: Retention, baseline: number): boolean {
  const state = workspace.readLog();
  const facts = { now: Date.now(), sizeFrom: () => 0 };
  if (chooseCut(state.history, limits, facts).steps > 0) return true;
  if (limits.maxSize === 0) return false;
  const packs = packsSize(workspace.layout);
  return packs > baseline + limits.maxSize && isWorthIt(workspace, state, { limits, packs });
}

/** At least a tenth of the packs must come free, or turns must go. */
function isWorthIt(
  workspace: Workspace,
  { history }: LogState,
  { limits, packs }: { readonly limits: Retention; readonly packs: number },
): boolean {
  const named = namedBy(workspace.layout, history);
  const facts = { now: Date.now(), sizeFrom: historySizes(workspace, named) };
  if (chooseCut(history, limits, facts).steps > 0) return true;
  const plan = planReclaim(workspace.layout.packs, (sha256) => named.contents.has(sha256));
  return freedBy(plan) * 10 > packs;
}
