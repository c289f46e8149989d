import { type Absent, type Content, type Image, sameImage } from '../core/image.js';
import type { Outcome } from '../core/outcome.js';
import type { PlannedChange } from '../core/planned.js';
import type { Placed } from '../files/place.js';

/** One path as it stands after an apply. */
export type Applied = { readonly outcome: Outcome; readonly now: Image };

/** Says how a path came out, by what stands there now, looked at by its hash. */
export function verifyApplied(now: Image, { path, to }: PlannedChange, placed: Placed): Applied {
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

/** A note says that owner or attributes could not be set; then all else must be as planned. */
function isAsPlanned(now: Image, to: Content | Absent, note: string): boolean {
  if (sameImage(now, to)) return true;
  if (to.kind !== 'content') return false;
  if (now.kind === 'skipped') return to.type === 'file' && (to.mode & OWNER_READ) === 0;
  if (note === '' || now.kind !== 'content') return false;
  return sameImage({ ...withoutAttributes(now), uid: to.uid, gid: to.gid }, to);
}

function withoutAttributes(content: Content): Content {
  if (content.type === 'symlink') return content;
  const { attributes: _, ...rest } = content;
  return rest;
}
