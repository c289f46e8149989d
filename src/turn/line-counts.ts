import type { Change } from '../core/change.js';
import type { Image } from '../core/image.js';
import { type DiffLimits, diffTexts, isBinary } from '../core/patch/text-diff.js';
import type { ReadImage } from './patch.js';

/** Lines that a change added and removed; `uncounted` where a side is no text or too large. */
export type LineCounts =
  | { readonly added: number; readonly removed: number; readonly bytes: number }
  | 'uncounted';

/** Counts are not worth more than this; `bytes` bounds each file. */
const COUNT_LIMITS: DiffLimits = { bytes: 1024 * 1024, edits: 500 };

const NOTHING = Buffer.alloc(0);

/**
 * Counts the lines that a change added and removed, and the bytes that were read for it. Where over 500
 * lines were moved about, everything between the first and the last of them counts.
 */
export function countLines({ before, after }: Change, read: ReadImage): LineCounts {
  const sides = [before, after].map(fileIn);
  if (sides.includes('uncounted')) return 'uncounted';
  if (sides.every((side) => side === 'nothing')) return { added: 0, removed: 0, bytes: 0 };
  const [old, now] = sides.map((side) => (typeof side === 'string' ? NOTHING : read(side)));
  if (old === undefined || now === undefined || isBinary(old) || isBinary(now)) return 'uncounted';
  const diff = diffTexts(old, now, COUNT_LIMITS);
  if (diff.kind === 'too-large') return 'uncounted';
  return { added: diff.added, removed: diff.removed, bytes: old.length + now.length };
}

function fileIn(image: Image): Parameters<ReadImage>[0] | 'nothing' | 'uncounted' {
  if (image.kind === 'skipped') return 'uncounted';
  if (image.kind === 'absent' || image.type !== 'file') return 'nothing';
  return image.bytes > COUNT_LIMITS.bytes ? 'uncounted' : image;
}
