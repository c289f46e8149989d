import { diff3MergeRegions } from 'node-diff3';
import { cutAtAnchors, type ThreeLines } from './merge-anchors.js';
import type { ByteString } from './relpath.js';

/** Three versions of a text: what both sides started from, and what each made of it. */
export type ThreeTexts = {
  readonly base: ByteString;
  readonly ours: ByteString;
  readonly theirs: ByteString;
};

/** A merge that came out clean, or why there is none. */
export type MergedText =
  | { readonly kind: 'clean'; readonly text: ByteString }
  | { readonly kind: 'none'; readonly reason: string };

/** Up to this many bytes a text is merged. */
export const MAX_MERGE_BYTES = 1024 * 1024;

/**
 * How many steps finding what three stretches share may take: pairs of equal lines times lines, for
 * that is what node-diff3 takes at worst. About 0.5 s of one core [measured].
 */
const MAX_STEPS = 500_000_000;

/**
 * Merges three ways, line by line; lines end with LF, and their bytes, a CR before it and a missing
 * last LF are part of them. Changes of both sides that touch are no clean merge, unless they are the
 * same change.
 */
export function mergeText({ base, ours, theirs }: ThreeTexts): MergedText {
  const sides = [base, ours, theirs];
  if (sides.some((side) => side.includes('\0'))) return none('it is not text');
  if (sides.some((side) => side.length > MAX_MERGE_BYTES)) return none('it is too large to merge');
  const cut = cutAtAnchors({ o: linesOf(base), a: linesOf(ours), b: linesOf(theirs) });
  const steps = cut.stretches.reduce((sum, stretch) => sum + stepsFor(stretch), 0);
  if (steps > MAX_STEPS) return none('too much of it differs to merge');
  const merged: ByteString[] = [];
  for (const [i, stretch] of cut.stretches.entries()) {
    const lines = mergeLines(stretch);
    if (lines === 'conflict') return none('both changed the same lines');
    merged.push(lines, cut.lines[i] ?? '');
  }
  return { kind: 'clean', text: merged.join('') };
}

function none(reason: string): MergedText {
  return { kind: 'none', reason };
}

function mergeLines({ o, a, b }: ThreeLines): ByteString | 'conflict' {
  const [base, ours, theirs] = [o.join(''), a.join(''), b.join('')];
  if (ours === theirs || base === theirs) return ours;
  if (base === ours) return theirs;
  const merged: ByteString[] = [];
  for (const region of diff3MergeRegions([...a], [...o], [...b])) {
    if (region.stable) merged.push(region.bufferContent.join(''));
    else if (region.aContent.join('') !== region.bContent.join('')) return 'conflict';
    else merged.push(region.aContent.join(''));
  }
  return merged.join('');
}

/** Splits after each LF, so that the pieces joined are the text again. */
function linesOf(text: ByteString): ByteString[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

function stepsFor({ o, a, b }: ThreeLines): number {
  return o.length * (equalPairs(o, a) + equalPairs(o, b));
}

function equalPairs(left: readonly ByteString[], right: readonly ByteString[]): number {
  const counts = new Map<ByteString, number>();
  for (const line of left) counts.set(line, (counts.get(line) ?? 0) + 1);
  return right.reduce((sum, line) => sum + (counts.get(line) ?? 0), 0);
}
