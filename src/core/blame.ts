import { matchLines } from './patch/line-matches.js';
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
 * How far two versions may lie apart for the search, see {@link matchLines}. Beyond that all lines
 * between the first and the last difference count as written anew.
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
    for (const [from, to] of matchLines(version.lines, lines, MAX_EDITS))
      origins[to] ??= version.origins[from];
  }
  return { lines, origins: origins.map((origin) => origin ?? writer) };
}
