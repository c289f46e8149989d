import type { Attributes } from './attributes.js';
import { mergeText } from './merge-text.js';
import type { ByteString } from './relpath.js';

/** A text file as it stood at one moment. */
export type TextFile = {
  readonly text: ByteString;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly attributes: Attributes | undefined;
};

/** What some steps without a foreign edit between them made of a file. */
export type Stretch = { readonly before: TextFile; readonly after: TextFile };

/** A file with the edits of both in it, or why there is none. */
export type MergedFile =
  | { readonly kind: 'clean'; readonly file: TextFile }
  | { readonly kind: 'none'; readonly reason: string };

/**
 * Takes what the steps made of a file out of what stands now, and leaves in it what others made of it
 * between them and since: three ways for each stretch, the newest first. Base is what the stretch
 * left, one side what it found, the other what stands.
 */
export function mergeOut(stretches: readonly Stretch[], now: TextFile): MergedFile {
  let file = now;
  for (const { before, after } of [...stretches].reverse()) {
    const merged = mergeText({ base: after.text, ours: before.text, theirs: file.text });
    if (merged.kind === 'none') return merged;
    const [mode, uid, gid] = META.map((key) => pick(after[key], before[key], file[key]));
    if (mode === undefined || uid === undefined || gid === undefined) {
      return { kind: 'none', reason: 'both changed its permissions or its owner' };
    }
    const attributes = pickAttributes(after, before, file);
    if (attributes === 'both') {
      return { kind: 'none', reason: 'both changed its attributes' };
    }
    file = { text: merged.text, mode, uid, gid, attributes };
  }
  return { kind: 'clean', file };
}

const META = ['mode', 'uid', 'gid'] as const;

function pick(base: number, ours: number, theirs: number): number | undefined {
  if (theirs === base) return ours;
  return ours === base || ours === theirs ? theirs : undefined;
}

/** Where some are not known, those that stand stay. */
function pickAttributes(base: TextFile, ours: TextFile, theirs: TextFile): Attributes | undefined {
  const all = [base.attributes, ours.attributes, theirs.attributes];
  const [left, found, standing] = all;
  if (left === undefined || found === undefined || standing === undefined) return standing;
  if (standing === left) return found;
  return found === left || found === standing ? standing : 'both';
}
