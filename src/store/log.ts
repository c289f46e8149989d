import crypto from 'node:crypto';
import fs from 'node:fs';
import { dirname } from 'node:path';
import { errnoWords, isErrno, PreimageError } from '../core/problem.js';
import { decodeRecord, encodeRecord, type LogRecord } from '../core/records.js';
import { OPEN, PRIVATE_FILE, syncDirectory, writeAll } from '../files/durable.js';

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
const LOG_START = '0'.repeat(64);

/**
 * Reads the log and checks its chain. A line is `<own hash> <hash of the line before> <JSON>`, the own
 * hash the SHA-256 of what follows it. A torn last line is dropped and said; any other line that does
 * not fit throws `damaged`.
 */
export function readLog(path: string): LogContents {
  let text: string;
  try {
    text = fs.readFileSync(path, 'utf8');
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return { records: [], head: LOG_START, length: 0, torn: false };
    throw new PreimageError('cannot-store', `Cannot read ${path}: ${errnoWords(error)}.`, {
      cause: error,
    });
  }
  const records: LogRecord[] = [];
  let head = LOG_START;
  let start = 0;
  let bytes = 0;
  for (;;) {
    const end = text.indexOf('\n', start);
    if (end < 0) break;
    const line = text.slice(start, end);
    const parsed = parseLine(line, head);
    if (typeof parsed === 'string') {
      throw new PreimageError('damaged', `Line ${records.length + 1} of ${path}: ${parsed}.`, {
        hint: 'The history was changed by something else than preimage; nothing was touched.',
      });
    }
    records.push(parsed.record);
    head = parsed.hash;
    bytes += Buffer.byteLength(line, 'utf8') + 1;
    start = end + 1;
  }
  return { records, head, length: bytes, torn: start < text.length };
}

/**
 * Appends a record and makes it durable; the caller holds the log's lock and has just read the log.
 * A torn last line is cut off first.
 */
export function appendRecord(path: string, contents: LogContents, record: LogRecord): LogContents {
  const rest = `${contents.head} ${encodeRecord(record)}`;
  const hash = crypto.hash('sha256', rest, 'hex');
  const line = Buffer.from(`${hash} ${rest}\n`, 'utf8');
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

function parseLine(
  line: string,
  head: string,
): { readonly hash: string; readonly record: LogRecord } | string {
  const hash = line.slice(0, 64);
  const rest = line.slice(65);
  if (line[64] !== ' ' || crypto.hash('sha256', rest, 'hex') !== hash) {
    return 'its hash does not fit what it says';
  }
  if (rest.slice(0, 64) !== head) return 'it does not follow the line before it';
  const record = decodeRecord(rest.slice(65));
  if ('invalid' in record) return record.invalid;
  return { hash, record };
}
