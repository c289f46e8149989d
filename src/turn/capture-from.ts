import type { PlannedChange } from '../core/planned.js';
import { lookAt } from '../files/look.js';
import { lookWhole } from '../files/look-all.js';
import { setFileMode } from '../files/place.js';
import { lstat, permissionsOf, stampOf } from '../files/stat.js';
import { spotOf, type Tree } from '../files/tree.js';
import type { PackWriter } from '../store/pack-writer.js';

/** A planned change whose old bytes are safe, or why they are not. */
export type Captured =
  | { readonly kind: 'captured'; readonly change: PlannedChange }
  | { readonly kind: 'conflict' | 'failed'; readonly reason: string };

/** Makes sure that what a planned change overwrites or deletes can be brought back. */
export function captureFrom(tree: Tree, writer: PackWriter, change: PlannedChange): Captured {
  const { from, path } = change;
  if (from.kind === 'skipped') return captureClosedFile(tree, writer, change);
  if (from.kind !== 'content' || from.type !== 'file' || writer.has(from.sha256)) {
    return { kind: 'captured', change };
  }
  const { stamp } = lookAt(tree, path, writer);
  return stamp === change.stamp ? { kind: 'captured', change } : CHANGED;
}

/**
 * Reads a file that its owner has closed to itself, by lending the permission.
 *
 * RACE: a crash between the two changes of mode leaves the file readable to its owner: it is about to
 * be replaced, by this rewind or by the next, which knows it again (`isAsSkipped`).
 */
function captureClosedFile(tree: Tree, writer: PackWriter, change: PlannedChange): Captured {
  const reason = change.from.kind === 'skipped' ? change.from.reason : '';
  const spot = spotOf(tree, change.path);
  if (spot.kind !== 'spot') return CHANGED;
  const stat = lstat(spot.path);
  if (stat === 'absent' || stampOf(stat) !== change.stamp) return CHANGED;
  const ours = process.geteuid !== undefined && stat.uid === BigInt(process.geteuid());
  if (!ours || !stat.isFile()) return { kind: 'failed', reason };
  const mode = permissionsOf(stat);
  if (setFileMode(spot.path, mode | OWNER_READ).kind !== 'done') return CHANGED;
  try {
    const { image } = lookWhole(tree, change.path, writer);
    setFileMode(spot.path, mode);
    if (image.kind !== 'content' || image.type !== 'file') return { kind: 'failed', reason };
    const now = lstat(spot.path);
    if (now === 'absent') return CHANGED;
    // An ACL says the permission that was lent as well; it is not what stood.
    const { attributes = '', ...bare } = image;
    const from = attributes.includes('system.posix_acl') ? { ...bare, mode } : { ...image, mode };
    return { kind: 'captured', change: { ...change, from, stamp: stampOf(now) } };
  } catch (error) {
    setFileMode(spot.path, mode);
    throw error;
  }
}

const OWNER_READ = 0o400;
const CHANGED: Captured = { kind: 'conflict', reason: 'it was changed while the rewind ran' };
