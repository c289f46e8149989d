import crypto from 'node:crypto';
import fs from 'node:fs';
import { dirname } from 'node:path';
import { errnoWords, isErrno, PreimageError } from '../core/problem.js';
import { decodeRecord, encodeRecord, type LogRecord } from '../core/records.js';
import { OPEN, PRIVATE_FILE, syncDirectory, writeAll, writeDurably } from '../files/durable.js';

/** What the log says. */
export type LogContents = {
  readonly records: readonly LogRecord[];
  /** Hash of the last line, {@link LOG_START} for an empty log. */
  readonly head: string;
  /** Bytes of whole lines; what follows is torn. */
  readonly length: number;
  /** A last line that was not written to its end: a crash while it was appended. */
  readonly torn: boolean;
};

/** What the first line names as the line before it. */
export const LOG_START = '0'.repeat(64);

/**
 * Reads the log and checks its chain. A line is `<own hash> <hash of the line before> <JSON>`, the own
 * hash the SHA-256 of what follows it. A torn last line is dropped and said; any other line that does
 * not fit throws `damaged`.
 */
export function readLog(path: string): LogContents {
  const bytes = readBytes(path);
  const known = beginningOf(bytes);
  const records = [...known.records];
  let { head, length: start } = known;
  for (;;) {
    const end = bytes.indexOf(NEWLINE, start);
    if (end < 0) break;
    const parsed = parseLine(bytes.subarray(start, end));
    const wrong =
      typeof parsed === 'string'
        ? parsed
        : parsed.previous === head
          ? ''
          : 'it does not follow the line before it';
    if (wrong !== '' || typeof parsed === 'string') {
      throw new PreimageError('damaged', `Line ${records.length + 1} of ${path}: ${wrong}.`, {
        hint: 'Nothing was touched. See what is damaged with: preimage verify',
      });
    }
    records.push(parsed.record);
    head = parsed.hash;
    start = end + 1;
  }
  const contents = { records, head, length: start, torn: start < bytes.length };
  lastRead = { bytes: bytes.subarray(0, start), contents };
  return contents;
}

const EMPTY: LogContents = { records: [], head: LOG_START, length: 0, torn: false };

/**
 * What was read last: a turn looks at the log several times, and an agent's process lives for many
 * turns, so lines that are still there byte for byte are not judged again.
 */
let lastRead: { readonly bytes: Buffer; readonly contents: LogContents } = {
  bytes: Buffer.alloc(0),
  contents: EMPTY,
};

/** Gives the part of a log that was read before, none of it where it is not the same any more. */
function beginningOf(bytes: Buffer): LogContents {
  const { bytes: known, contents } = lastRead;
  const same = known.equals(bytes.subarray(0, known.length));
  return same ? contents : EMPTY;
}

/** Reads the log's bytes, none where there is no log. */
export function readBytes(path: string): Buffer {
  try {
    return fs.readFileSync(path);
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return Buffer.alloc(0);
    throw new PreimageError('cannot-store', `Cannot read ${path}: ${errnoWords(error)}.`, {
      hint: 'Mend that, then try again; nothing is lost.',
      cause: error,
    });
  }
}

/**
 * Appends a record and makes it durable; the caller holds the log's lock and has just read the log.
 * A torn last line is cut off first.
 */
export function appendRecord(path: string, contents: LogContents, record: LogRecord): LogContents {
  const { line, hash } = chained(contents.head, encodeRecord(record));
  const fd = fs.openSync(path, OPEN.update, PRIVATE_FILE);
  try {
    if (contents.torn) fs.ftruncateSync(fd, contents.length);
    try {
      writeAll(fd, line, contents.length);
      fs.fsyncSync(fd);
      // Its first line makes the file: its name must last as well.
      if (contents.length === 0) syncDirectory(dirname(path));
    } catch (error) {
      // A line that is only half there must not stand before the next one.
      fs.ftruncateSync(fd, contents.length);
      throw error;
    }
  } finally {
    fs.closeSync(fd);
  }
  const length = contents.length + line.length;
  return { records: [...contents.records, record], head: hash, length, torn: false };
}

/**
 * Writes a log anew from the records of its lines as JSON, whole or not at all; the caller holds the
 * log's lock. Who reads it meanwhile has the old one or the new one, for everyone reads it in one go.
 */
export function rewriteLog(path: string, texts: readonly string[]): void {
  let head = LOG_START;
  const lines = texts.map((text) => {
    const { line, hash } = chained(head, text);
    head = hash;
    return line;
  });
  writeDurably(path, lines);
}

/** Gives the records of a log's lines as JSON, to the letter; the log has just been read as whole. */
export function textsOf(path: string, { length }: LogContents): string[] {
  const lines = readBytes(path).toString('utf8', 0, length).split('\n').slice(0, -1);
  return lines.map((line) => line.slice(TEXT_START));
}

/** Gives the hashes that texts have as the lines of a chain that goes on from a line before them. */
export function* chainFrom(before: string, texts: readonly string[]): Iterable<string> {
  let head = before;
  for (const text of texts) {
    head = chained(head, text).hash;
    yield head;
  }
}

/** A line of the log that is whole; whether it follows the one before it is for the caller to see. */
export type ParsedLine = {
  readonly hash: string;
  readonly previous: string;
  readonly record: LogRecord;
  /** The record as JSON, to the letter. */
  readonly text: string;
};

/** Reads one line, without its end; says in words why it is none. */
export function parseLine(line: Buffer): ParsedLine | string {
  const hash = line.toString('latin1', 0, 64);
  const rest = line.subarray(65);
  if (line[64] !== SPACE || crypto.hash('sha256', rest, 'hex') !== hash) {
    return 'its hash does not fit what it says';
  }
  const text = rest.toString('utf8', 65);
  const record = decodeRecord(text);
  if ('invalid' in record) return record.invalid;
  return { hash, previous: rest.toString('latin1', 0, 64), record, text };
}

const NEWLINE = 0x0a;
const SPACE = 0x20;

/** Two hashes of 64 digits and the blanks after them come first. */
const TEXT_START = 130;

function chained(head: string, text: string): { readonly line: Buffer; readonly hash: string } {
  const rest = `${head} ${text}`;
  const hash = crypto.hash('sha256', rest, 'hex');
  return { line: Buffer.from(`${hash} ${rest}\n`, 'utf8'), hash };
}
