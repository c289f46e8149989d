import { type History, isRewound, newestFirst, type Turn } from '../core/history.js';
import { printable } from '../core/printable.js';
import { PreimageError } from '../core/problem.js';
import { isWithin, type RelPath } from '../core/relpath.js';
import { lookAt } from '../files/look.js';
import { openTree } from '../files/tree.js';
import { toRelPath } from './locate.js';
import type { Workspace } from './workspace.js';

/** Finds a turn; throws `no-such-turn`, and tells whoever gave a path instead how to name both. */
export function findTurn(workspace: Workspace, history: History, wanted: string): Turn {
  const turn = history.turns.get(wanted);
  if (turn !== undefined) return turn;
  throw new PreimageError('no-such-turn', `There is no turn ${JSON.stringify(wanted)}.`, {
    hint: hintFor(workspace, history, wanted),
  });
}

/** Finds the turn to rewind; throws `nothing-to-do` where it, or every turn, is rewound. */
export function chooseTurn(
  workspace: Workspace,
  history: History,
  wanted: string | 'newest',
): Turn {
  if (wanted === 'newest') {
    const turn = newestFirst(history).find((candidate) => !isRewound(history, candidate));
    if (turn !== undefined) return turn;
    throw new PreimageError('nothing-to-do', 'There is no turn to rewind.', {
      hint: 'See the turns with: preimage list',
    });
  }
  const turn = findTurn(workspace, history, wanted);
  if (!isRewound(history, turn)) return turn;
  throw new PreimageError('nothing-to-do', `Turn ${wanted} is rewound already.`, {
    hint: 'To take that back: preimage redo',
  });
}

function hintFor(workspace: Workspace, history: History, wanted: string): string {
  const path = pathMeant(workspace, wanted);
  if (path === 'none') return 'See the turns with: preimage list';
  const touched = newestFirst(history).filter((turn) => touches(workspace, turn, path));
  const turn = touched.find((candidate) => !isRewound(history, candidate)) ?? touched[0];
  if (turn !== undefined) {
    return `It is a path: name the turn first, as in: preimage rewind ${turn.id} ${printable(path)}`;
  }
  if (!stands(workspace, path)) return 'See the turns with: preimage list';
  return 'It is a path, and no turn touched it. See the turns with: preimage list';
}

function pathMeant({ located }: Workspace, typed: string): RelPath | 'none' {
  try {
    const path = toRelPath(located, typed);
    return path === '' ? 'none' : path;
  } catch (error) {
    if (error instanceof PreimageError) return 'none';
    throw error;
  }
}

function touches(workspace: Workspace, turn: Turn, path: RelPath): boolean {
  return turn.steps.some((step) =>
    workspace.changes(step).some((change) => isWithin(change.path, path)),
  );
}

function stands({ root }: Workspace, path: RelPath): boolean {
  const tree = openTree(root);
  try {
    return lookAt(tree, path, 'hash-only').image.kind !== 'absent';
  } finally {
    tree.close();
  }
}
