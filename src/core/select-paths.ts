import { isDirectory } from './planned.js';
import { isWithin, type RelPath } from './relpath.js';
import type { SquashedChange } from './squash.js';

/**
 * Chooses the changes that a rewind of some paths is about: those paths, all below them, and the
 * directories above them that must be made again first.
 */
export function selectPaths(
  squashed: readonly SquashedChange[],
  wanted: readonly RelPath[],
): SquashedChange[] {
  if (wanted.length === 0) return [...squashed];
  return squashed.filter(({ path, before, after }) => {
    if (wanted.some((want) => isWithin(path, want))) return true;
    if (!wanted.some((want) => isWithin(want, path))) return false;
    return isDirectory(before) && !isDirectory(after);
  });
}
