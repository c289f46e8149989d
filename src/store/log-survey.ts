import crypto from 'node:crypto';
import { LOG_START, type ParsedLine, parseLine } from './log.js';

/** A piece of the log as a survey finds it. */
export type LogPiece =
  | { readonly kind: 'line'; readonly number: number; readonly parsed: ParsedLine }
  /** A line that is not what was written; `step` and `turn` are what it seems to speak of. */
  | {
      readonly kind: 'damaged';
      readonly number: number;
      readonly why: string;
      readonly step: number | 'unknown';
      readonly turn: string | 'unknown';
    }
  /** Lines that were here are gone. */
  | { readonly kind: 'missing'; readonly number: number }
  /** A last line that was not written to its end: a crash while it was appended, or a writer at work. */
  | { readonly kind: 'torn'; readonly number: number }
  /** A whole line whose end was changed: of the last one, the next append would cut it off. */
  | { readonly kind: 'no-end'; readonly number: number };

/** Reads a log that may be damaged, as far as each line vouches for itself. */
export function surveyLog(bytes: Buffer): LogPiece[] {
  const pieces: LogPiece[] = [];
  let expected: string | 'any' = LOG_START;
  const take = (line: Buffer): number => {
    const number = pieces.filter(({ kind }) => kind === 'line' || kind === 'damaged').length + 1;
    const parsed = parseLine(line);
    if (typeof parsed === 'string') {
      pieces.push({ kind: 'damaged', number, why: parsed, ...salvage(line) });
      expected = 'any';
      return number;
    }
    if (expected !== 'any' && parsed.previous !== expected)
      pieces.push({ kind: 'missing', number });
    pieces.push({ kind: 'line', number, parsed });
    expected = parsed.hash;
    return number;
  };
  let start = 0;
  for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, start)) {
    const lines = splitMerged(bytes.subarray(start, end));
    lines.forEach((line, i) => {
      const number = take(line);
      if (i < lines.length - 1) pieces.push({ kind: 'no-end', number });
    });
    start = end + 1;
  }
  const rest = bytes.subarray(start);
  if (rest.length === 0) return pieces;
  const number = pieces.length + 1;
  if (typeof parseLine(rest.subarray(0, -1)) === 'string') {
    pieces.push({ kind: 'torn', number });
  } else {
    take(rest.subarray(0, -1));
    pieces.push({ kind: 'no-end', number });
  }
  return pieces;
}

const NEWLINE = 0x0a;

/** Where a line begins; the byte before it was the end of another one. */
const BEGINNING = /[0-9a-f]{64} [0-9a-f]{64} \{"type":"/g;

/** A line whose end was changed has the next one in it. */
function splitMerged(line: Buffer): Buffer[] {
  if (typeof parseLine(line) !== 'string') return [line];
  const starts = [...line.toString('latin1').matchAll(BEGINNING)].map(({ index }) => index);
  const from = [0, ...starts.filter((start) => start > 0)];
  return from.map((start, i) => {
    const next = from[i + 1];
    return line.subarray(start, next === undefined ? line.length : next - 1);
  });
}

/** Trying every bit of a longer line takes too long. */
const LONGEST_TRIED = 4096;

/**
 * Finds out what a line said before a single bit of it was changed, by its hash: the number of the step
 * may be what was changed, and would speak of another one. Gives the line itself where that fails.
 */
function asWritten(line: Buffer): Buffer {
  const hash = line.toString('latin1', 0, 64);
  if (line.length > LONGEST_TRIED || !/^[0-9a-f]{64}$/.test(hash)) return line;
  const rest = Buffer.from(line.subarray(65));
  for (let bit = 0; bit < rest.length * 8; bit++) {
    const at = bit >> 3;
    const mask = 1 << (bit & 7);
    rest.writeUInt8((rest[at] ?? 0) ^ mask, at);
    if (crypto.hash('sha256', rest, 'hex') === hash) return rest;
    rest.writeUInt8((rest[at] ?? 0) ^ mask, at);
  }
  return line;
}

function salvage(line: Buffer): { step: number | 'unknown'; turn: string | 'unknown' } {
  const text = asWritten(line).toString('latin1');
  const step = /"step":(\d{1,15}),/.exec(text)?.[1];
  const turn = /"turn":"([A-Za-z0-9._:-]{1,128})"/.exec(text)?.[1];
  return { step: step === undefined ? 'unknown' : Number(step), turn: turn ?? 'unknown' };
}
