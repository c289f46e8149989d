import { sameImage } from '../core/image.js';
import { FLAG, KEY, type Manifest } from '../core/manifest.js';
import { linksWanted } from '../core/placement.js';
import type { PlannedChange } from '../core/plan.js';
import type { RelPath } from '../core/relpath.js';
import { lookAt } from '../files/look.js';
import type { Tree } from '../files/tree.js';

/**
 * Finds, for each file with several names that a plan puts back, another name of it that still stands
 * untouched: by its inode in the last manifest, then by looking.
 */
export function findSurvivors(
  tree: Tree,
  changes: readonly PlannedChange[],
  baseline: Manifest | 'none',
): Map<string, RelPath> {
  const survivors = new Map<string, RelPath>();
  const wanted = linksWanted(changes);
  if (baseline === 'none' || wanted.size === 0) return survivors;
  const planned = new Set(changes.map(({ path }) => path));
  const inodes = new Set([...wanted.keys()].map((link) => BigInt(link.split(':')[1] ?? 0)));
  for (let i = 0; i < baseline.count; i++) {
    if (!baseline.has(i, FLAG.linked) || !inodes.has(baseline.key(i, KEY.ino))) continue;
    const image = wanted.get(baseline.inode(i));
    const path = baseline.path(i);
    if (image === undefined || planned.has(path)) continue;
    const now = lookAt(tree, path, 'hash-only');
    const stands = now.stamp.startsWith(`${image.link}:`) && sameImage(now.image, image);
    if (stands) survivors.set(image.link, path);
  }
  return survivors;
}
