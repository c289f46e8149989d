import { diffArrays } from 'diff/lib/diff/array.js';
import type { ByteString } from './relpath.js';

/** Who wrote a line. */
export type LineOrigin =
  /** The step of a turn that was the last to write it. */
  | { readonly kind: 'turn'; readonly turn: string; readonly step: number }
  /** It was there before any recorded turn wrote the file. */
  | { readonly kind: 'before' }
  /** Somebody wrote it between two turns, or since the last one. */
  | { readonly kind: 'outside' }
  /** Not to be told: a version of the file in between was not captured. */
  | { readonly kind: 'unknown' };

/** A text's lines, each with who wrote it. */
export type Annotated = {
  readonly lines: readonly ByteString[];
  readonly origins: readonly LineOrigin[];
};

/** No line at all. */
export const NO_LINES: Annotated = { lines: [], origins: [] };

/**
 * Lines that a search for the shortest edit may add and remove; it takes quadratic time. Beyond that
 * all lines between the first and the last difference count as written anew.
 */
const MAX_EDITS = 4000;

/**
 * Tells who wrote each line of a text: a line that an older version has keeps its origin there, of
 * several older versions the first one given counts, and every other line was written by `writer`.
 */
export function annotate(
  lines: readonly ByteString[],
  writer: LineOrigin,
  ...older: readonly Annotated[]
): Annotated {
  const origins: (LineOrigin | undefined)[] = lines.map(() => undefined);
  for (const version of older) {
    for (const [from, to] of samePlaces(version.lines, lines))
      origins[to] ??= version.origins[from];
  }
  return { lines, origins: origins.map((origin) => origin ?? writer) };
}

/** Pairs the lines that two versions share, in order: place in the old one, place in the new one. */
function* samePlaces(
  old: readonly ByteString[],
  now: readonly ByteString[],
): Iterable<readonly [number, number]> {
  const most = Math.min(old.length, now.length);
  let head = 0;
  for (; head < most && old[head] === now[head]; head++) yield [head, head];
  let tail = 0;
  for (; tail < most - head && old[old.length - 1 - tail] === now[now.length - 1 - tail]; tail++) {
    yield [old.length - 1 - tail, now.length - 1 - tail];
  }
  const parts = diffArrays(old.slice(head, old.length - tail), now.slice(head, now.length - tail), {
    maxEditLength: MAX_EDITS,
  });
  let [from, to] = [head, head];
  for (const { added, removed, count } of parts ?? []) {
    if (!added && !removed) for (let i = 0; i < count; i++) yield [from + i, to + i];
    if (!added) from += count;
    if (!removed) to += count;
  }
}
