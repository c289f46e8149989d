import { type Absent, type Content, type Image, sameImage } from '../core/image.js';
import type { Outcome } from '../core/outcome.js';
import type { PlannedChange } from '../core/planned.js';
import { lookAt } from '../files/look.js';
import type { Placed } from '../files/place.js';
import type { Tree } from '../files/tree.js';

/** One path as it stands after an apply. */
export type Applied = { readonly outcome: Outcome; readonly now: Image };

/** Looks at a path again, by its hash, and says how it came out. */
export function verifyApplied(tree: Tree, { path, to }: PlannedChange, placed: Placed): Applied {
  const now = lookAt(tree, path, 'hash-only').image;
  if (placed.kind !== 'done') {
    return { outcome: { path, outcome: placed.kind, reason: placed.reason }, now };
  }
  const outcome = to.kind === 'absent' ? 'deleted' : 'restored';
  if (isAsPlanned(now, to, placed.note)) {
    // What its owner may not read cannot be looked at again; it is what was staged.
    const seen = now.kind === 'skipped' ? to : now;
    return { outcome: { path, outcome, reason: placed.note }, now: seen };
  }
  const reason = 'what stands there now is not what was written';
  return { outcome: { path, outcome: 'failed', reason }, now };
}

const OWNER_READ = 0o400;

/** A note says that the owner could not be set; then all else must be as planned. */
function isAsPlanned(now: Image, to: Content | Absent, note: string): boolean {
  if (sameImage(now, to)) return true;
  if (to.kind !== 'content') return false;
  if (now.kind === 'skipped') return to.type === 'file' && (to.mode & OWNER_READ) === 0;
  if (note === '' || now.kind !== 'content') return false;
  return sameImage({ ...now, uid: to.uid, gid: to.gid }, to);
}
