import crypto from 'node:crypto';
import { betweenWords } from '../core/foreign-words.js';
import { type FileImage, type Image, type Sha256, sameImage } from '../core/image.js';
import { mergeOut, type Stretch, type TextFile } from '../core/merge-file.js';
import { MAX_MERGE_BYTES } from '../core/merge-text.js';
import type { Outcome } from '../core/outcome.js';
import type { DiskState, Merged } from '../core/plan-request.js';
import { isGitData, type RelPath } from '../core/relpath.js';
import type { SquashedChange } from '../core/squash.js';
import type { Tree } from '../files/tree.js';
import type { Packs } from '../store/packs.js';
import { standingBytes } from './standing-bytes.js';
import { storedBytes } from './stored-bytes.js';

/** What came of merging the files that somebody else edited: the bytes are in no pack yet. */
export type LaterMerges = {
  readonly merged: ReadonlyMap<RelPath, Merged>;
  readonly bytes: ReadonlyMap<Sha256, Uint8Array>;
};

/** Nothing was merged. */
export const NO_MERGES: LaterMerges = { merged: new Map(), bytes: new Map() };

/**
 * Merges each text file that somebody else edited after the steps or between them, so that only what
 * the steps did is taken out of it. A repository's own data are never merged.
 */
export function mergeLater(
  squashed: readonly SquashedChange[],
  disk: ReadonlyMap<RelPath, DiskState>,
  sources: { readonly tree: Tree; readonly packs: Packs },
): LaterMerges {
  const merged = new Map<RelPath, Merged>();
  const bytes = new Map<Sha256, Uint8Array>();
  for (const change of squashed) {
    const now = disk.get(change.path)?.image;
    if (now === undefined || isGitData(change.path) || !isEdited(change, now)) continue;
    const result = mergeOne(change, now, sources);
    if (result.kind === 'none') {
      merged.set(change.path, result);
    } else {
      merged.set(change.path, { kind: 'clean', image: result.image, words: wordsFor(change, now) });
      bytes.set(result.image.sha256, result.bytes);
    }
  }
  return { merged, bytes };
}

/** Says of what was put back merged that it was. */
export function tellMerged(
  outcomes: readonly Outcome[],
  merged: ReadonlyMap<RelPath, Merged>,
): Outcome[] {
  return outcomes.map((outcome) => {
    const merge = merged.get(outcome.path);
    const isTold = outcome.outcome === 'restored' && merge?.kind === 'clean';
    if (!isTold) return outcome;
    const note = outcome.reason === '' ? '' : `; ${outcome.reason}`;
    return { ...outcome, reason: `${merge.words}${note}` };
  });
}

function isEdited({ before, after, foreign }: SquashedChange, now: Image): boolean {
  return !sameImage(now, before) && (!sameImage(now, after) || foreign.length > 0);
}

type One =
  | { readonly kind: 'clean'; readonly image: FileImage; readonly bytes: Uint8Array }
  | { readonly kind: 'none'; readonly reason: string };

function mergeOne(
  change: SquashedChange,
  now: Image,
  { tree, packs }: { readonly tree: Tree; readonly packs: Packs },
): One {
  const { before, after, foreign, path } = change;
  const images = [now, before, after, ...foreign.flatMap(({ left, found }) => [left, found])];
  if (!images.every(isFile) || !isFile(now) || !isFile(before)) {
    return { kind: 'none', reason: 'only files can be merged' };
  }
  if (images.some((image) => isFile(image) && image.bytes > MAX_MERGE_BYTES)) {
    return { kind: 'none', reason: 'it is too large to merge' };
  }
  const standing = textFile(now, standingBytes(tree, path, now));
  // Each foreign edit ends one stretch and begins the next.
  const starts = [before, ...foreign.map(({ found }) => found)];
  const ends = [...foreign.map(({ left }) => left), after];
  const stretches = starts.flatMap((start, i): Stretch[] => {
    const [from, to] = [stored(start), stored(ends[i])];
    return from === 'unknown' || to === 'unknown' ? [] : [{ before: from, after: to }];
  });
  if (standing === 'unknown' || stretches.length < starts.length) {
    return { kind: 'none', reason: 'what it is to be merged from cannot be read' };
  }
  const result = mergeOut(stretches, standing);
  if (result.kind === 'none') return result;
  const bytes = Buffer.from(result.file.text, 'latin1');
  const { mode, uid, gid, attributes } = result.file;
  const sha256 = crypto.hash('sha256', bytes, 'hex');
  const image = { ...before, sha256, bytes: bytes.length, mode, uid, gid, mtimeNs: now.mtimeNs };
  const whole = attributes === undefined ? image : { ...image, attributes };
  return { kind: 'clean', image: { ...whole, sparse: false }, bytes };

  function stored(image: Image | undefined): TextFile | 'unknown' {
    return image === undefined || !isFile(image)
      ? 'unknown'
      : textFile(image, storedBytes(packs, image));
  }
}

function textFile(image: FileImage, bytes: Buffer | 'unknown'): TextFile | 'unknown' {
  if (bytes === 'unknown') return 'unknown';
  const { mode, uid, gid, attributes } = image;
  return { text: bytes.toString('latin1'), mode, uid, gid, attributes };
}

function wordsFor({ after, foreign }: SquashedChange, now: Image): string {
  const between = foreign.length === 0 ? '' : `what was edited ${betweenWords(foreign)}`;
  if (sameImage(now, after)) return `merged with ${between}`;
  return `merged with your later edit${between === '' ? '' : ` and ${between}`}`;
}

function isFile(image: Image): image is FileImage {
  return image.kind === 'content' && image.type === 'file';
}
