import type { ByteString } from '../relpath.js';
import { matchLines } from './line-matches.js';

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
   * Lines that a search for the shortest edit may add and remove, of those that both texts have; it
   * takes quadratic time. Beyond that everything between the first and the last difference is removed
   * and added: longer, not wrong.
   */
  readonly edits: number;
};

/** For whoever asked for just this diff: about two seconds of one core at worst [measured]. */
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
  const old = splitLines(before.toString('latin1', start, oldEnd));
  const now = splitLines(after.toString('latin1', start, newEnd));
  const blocks = blocksOf(old, now, limits.edits);
  const skipped = countLines(before, start);
  let [added, removed] = [0, 0];
  for (const block of blocks) {
    added += block.newEnd - block.newStart;
    removed += block.oldEnd - block.oldStart;
  }
  const hunks = grouped(blocks).map((group) => hunkOf(group, { old, now, skipped }));
  return { kind: 'hunks', hunks, added, removed };
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

/** Lines of the old text that others of the new one take the place of; ends are exclusive. */
type Block = {
  readonly oldStart: number;
  readonly oldEnd: number;
  readonly newStart: number;
  readonly newEnd: number;
};

/** What lies between the lines that both texts have. */
function blocksOf(old: readonly ByteString[], now: readonly ByteString[], edits: number): Block[] {
  const blocks: Block[] = [];
  let [oldStart, newStart] = [0, 0];
  const until = (oldEnd: number, newEnd: number): void => {
    if (oldEnd > oldStart || newEnd > newStart) {
      blocks.push({ oldStart, oldEnd, newStart, newEnd });
    }
    [oldStart, newStart] = [oldEnd + 1, newEnd + 1];
  };
  for (const [from, to] of matchLines(old, now, edits)) until(from, to);
  until(old.length, now.length);
  return blocks;
}

/** Puts blocks whose surrounding lines meet into one hunk. */
function grouped(blocks: readonly Block[]): Block[][] {
  const groups: Block[][] = [];
  for (const block of blocks) {
    const group = groups.at(-1);
    const last = group?.at(-1);
    if (group !== undefined && last !== undefined && block.oldStart - last.oldEnd <= 2 * CONTEXT) {
      group.push(block);
    } else {
      groups.push([block]);
    }
  }
  return groups;
}

function hunkOf(
  blocks: readonly Block[],
  texts: {
    readonly old: readonly ByteString[];
    readonly now: readonly ByteString[];
    readonly skipped: number;
  },
): Hunk {
  const { old, now, skipped } = texts;
  const lines: ByteString[] = [];
  const add = (mark: string, line: ByteString | undefined): void => {
    const [text = '', end] = (line ?? '').split('\n');
    lines.push(`${mark}${text}`);
    if (end !== undefined) lines.push(end);
  };
  const [first] = blocks;
  const oldFrom = Math.max(0, (first?.oldStart ?? 0) - CONTEXT);
  const newFrom = (first?.newStart ?? 0) - ((first?.oldStart ?? 0) - oldFrom);
  let [at, newAt] = [oldFrom, newFrom];
  const context = (until: number): void => {
    for (; at < until; at++, newAt++) add(' ', old[at]);
  };
  for (const { oldStart, oldEnd, newEnd } of blocks) {
    context(oldStart);
    for (; at < oldEnd; at++) add('-', old[at]);
    for (; newAt < newEnd; newAt++) add('+', now[newAt]);
  }
  context(Math.min(old.length, at + CONTEXT));
  // Of an empty side git names the line before it.
  const startOf = (from: number, until: number): number => skipped + from + (until > from ? 1 : 0);
  return {
    oldStart: startOf(oldFrom, at),
    oldLines: at - oldFrom,
    newStart: startOf(newFrom, newAt),
    newLines: newAt - newFrom,
    lines,
  };
}

/** Splits into lines without their LF; a last line that has none says so after an LF of its own. */
function splitLines(text: ByteString): ByteString[] {
  const lines = text.split('\n');
  const last = lines.pop() ?? '';
  if (last !== '') lines.push(`${last}\n${NO_END}`);
  return lines;
}
