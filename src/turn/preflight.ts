import type { PlannedChange } from '../core/planned.js';
import { isDirectory } from '../core/planned.js';
import { printable } from '../core/printable.js';
import { parentOf, type RelPath } from '../core/relpath.js';
import { spotOf, type Tree } from '../files/tree.js';
import { whyFrozen } from '../files/writable.js';

/**
 * Finds what the system would refuse to change, before anything is written: immutable files and
 * directories, and what is mounted read-only. What may only be appended to is refused later, when its
 * turn comes, and named then.
 */
export function findHindered(
  tree: Tree,
  changes: readonly PlannedChange[],
): ReadonlyMap<RelPath, string> {
  const hindered = new Map<RelPath, string>();
  const directories = new Map<RelPath, string>();
  tree.reset();
  for (const change of changes) {
    const { path } = change;
    const own = change.from.kind === 'absent' ? '' : frozenAt(tree, path);
    if (own !== '') hindered.set(path, own);
    // The mode of a directory changes without a change in the directory that holds it.
    if (own !== '' || path === '' || (isDirectory(change.from) && isDirectory(change.to))) continue;
    const parent = parentOf(path);
    let above = directories.get(parent);
    if (above === undefined) {
      above = frozenAt(tree, parent);
      directories.set(parent, above);
    }
    if (above !== '') hindered.set(path, `${printable(parent) || 'the root'}: ${above}`);
  }
  return hindered;
}

function frozenAt(tree: Tree, path: RelPath): string {
  const spot = spotOf(tree, path);
  return spot.kind === 'spot' ? whyFrozen(spot.path) : '';
}
