import { structuredPatch } from 'diff';
import type { ByteString } from '../relpath.js';

/** Where two texts differ, with the lines around it; each line begins with ` `, `-`, `+` or `\`. */
export type Hunk = {
  /** Number of the first line, from 1; of an empty side the line before it. */
  readonly oldStart: number;
  readonly oldLines: number;
  readonly newStart: number;
  readonly newLines: number;
  readonly lines: readonly ByteString[];
};

/** How two texts differ. */
export type TextDiff =
  | {
      readonly kind: 'hunks';
      readonly hunks: readonly Hunk[];
      readonly added: number;
      readonly removed: number;
    }
  /** What differs is over the limit: bytes of both sides together. */
  | { readonly kind: 'too-large'; readonly bytes: number };

/** How much work a diff may be. */
export type DiffLimits = {
  /** Bytes of the stretches that differ, both sides together. */
  readonly bytes: number;
  /**
   * Lines that a search for the shortest edit may add and remove; it takes quadratic time. Beyond that
   * everything between the first and the last difference is removed and added: longer, not wrong.
   */
  readonly edits: number;
};

/** For whoever asked for just this diff: about a second of one core at worst [measured]. */
export const DIFF_LIMITS: DiffLimits = { bytes: 16 * 1024 * 1024, edits: 4000 };

const CONTEXT = 3;
const NEWLINE = 0x0a;
const NO_END = '\\ No newline at end of file';

/**
 * Compares two texts line by line; lines end with LF, and a CR before it is part of them. Only what
 * lies between the first and the last difference is looked at, so one line of a huge file is cheap.
 */
export function diffTexts(before: Buffer, after: Buffer, limits: DiffLimits): TextDiff {
  const window = windowOf(before, after);
  const { start, oldEnd, newEnd } = window;
  const bytes = oldEnd - start + (newEnd - start);
  if (bytes > limits.bytes) return { kind: 'too-large', bytes };
  const oldText = before.toString('latin1', start, oldEnd);
  const newText = after.toString('latin1', start, newEnd);
  if (oldText === newText) return { kind: 'hunks', hunks: [], added: 0, removed: 0 };
  const found =
    oldText === '' || newText === '' ? 'too-different' : shortest(oldText, newText, limits.edits);
  const hunks = found === 'too-different' ? [replaced(oldText, newText)] : found;
  const skipped = countLines(before, start);
  const lines = hunks.flatMap((hunk) => hunk.lines);
  return {
    kind: 'hunks',
    hunks: hunks.map((hunk) => ({
      ...hunk,
      oldStart: hunk.oldStart + skipped,
      newStart: hunk.newStart + skipped,
    })),
    added: lines.filter((line) => line.startsWith('+')).length,
    removed: lines.filter((line) => line.startsWith('-')).length,
  };
}

/** Writes a hunk's first line. */
export function hunkHead({ oldStart, oldLines, newStart, newLines }: Hunk): ByteString {
  return `@@ -${oldStart},${oldLines} +${newStart},${newLines} @@`;
}

/** Reports whether bytes are no text, by git's own rule: a NUL among the first 8,000. */
export function isBinary(bytes: Buffer): boolean {
  return bytes.subarray(0, 8000).includes(0);
}

/** Splits after each LF, so that the pieces joined are the text again. */
export function linesOf(text: ByteString): ByteString[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

/** What differs, in whole lines and with the lines around it: it starts at the same byte in both. */
type Window = { readonly start: number; readonly oldEnd: number; readonly newEnd: number };

function windowOf(before: Buffer, after: Buffer): Window {
  const shorter = Math.min(before.length, after.length);
  let head = 0;
  while (head < shorter && before[head] === after[head]) head++;
  let tail = 0;
  while (
    tail < shorter - head &&
    before[before.length - 1 - tail] === after[after.length - 1 - tail]
  ) {
    tail++;
  }
  let start = lineStart(before, head);
  for (let i = 0; i < CONTEXT && start > 0; i++) start = lineStart(before, start - 1);
  let oldEnd = before.length - tail;
  // One line more than the context: the tail may begin within a line.
  for (let i = 0; i <= CONTEXT && oldEnd < before.length; i++) oldEnd = lineEnd(before, oldEnd);
  return { start, oldEnd, newEnd: after.length - (before.length - oldEnd) };
}

function lineStart(bytes: Buffer, at: number): number {
  return at === 0 ? 0 : bytes.lastIndexOf(NEWLINE, at - 1) + 1;
}

function lineEnd(bytes: Buffer, at: number): number {
  const end = bytes.indexOf(NEWLINE, at);
  return end < 0 ? bytes.length : end + 1;
}

function countLines(bytes: Buffer, until: number): number {
  let count = 0;
  for (let at = bytes.indexOf(NEWLINE); at >= 0 && at < until; count++) {
    at = bytes.indexOf(NEWLINE, at + 1);
  }
  return count;
}

function shortest(oldText: string, newText: string, edits: number): Hunk[] | 'too-different' {
  const patch = structuredPatch('a', 'b', oldText, newText, '', '', {
    context: CONTEXT,
    maxEditLength: edits,
  });
  if (patch === undefined) return 'too-different';
  return patch.hunks.map((hunk) => ({
    ...hunk,
    // An empty side starts at line 0, as git writes it.
    oldStart: hunk.oldLines === 0 ? hunk.oldStart - 1 : hunk.oldStart,
    newStart: hunk.newLines === 0 ? hunk.newStart - 1 : hunk.newStart,
  }));
}

/** Everything goes and everything comes, but for the lines around. */
function replaced(oldText: string, newText: string): Hunk {
  const old = linesOf(oldText);
  const now = linesOf(newText);
  const most = Math.min(old.length, now.length);
  let head = 0;
  while (head < most && old[head] === now[head]) head++;
  let tail = 0;
  while (tail < most - head && old[old.length - 1 - tail] === now[now.length - 1 - tail]) tail++;
  const marked = (mark: string, lines: readonly string[]): string[] =>
    lines.flatMap((line) =>
      line.endsWith('\n') ? [`${mark}${line.slice(0, -1)}`] : [`${mark}${line}`, NO_END],
    );
  return {
    oldStart: old.length === 0 ? 0 : 1,
    oldLines: old.length,
    newStart: now.length === 0 ? 0 : 1,
    newLines: now.length,
    lines: [
      ...marked(' ', old.slice(0, head)),
      ...marked('-', old.slice(head, old.length - tail)),
      ...marked('+', now.slice(head, now.length - tail)),
      ...marked(' ', old.slice(old.length - tail)),
    ],
  };
}
