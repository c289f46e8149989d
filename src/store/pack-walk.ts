import fs from 'node:fs';
import { HEADER_BYTES, MAGIC_BYTES, type RecordHeader, readHeader } from './pack-format.js';
import { PackReader } from './pack-reader.js';

/** A piece of a pack as a walk finds it. */
export type Walked =
  | { readonly kind: 'record'; readonly offset: number; readonly header: RecordHeader }
  /** Bytes between records that are no record: damage. */
  | { readonly kind: 'gap'; readonly offset: number; readonly end: number }
  /** What follows the last whole record: a crash, or a writer at work. */
  | { readonly kind: 'tail'; readonly offset: number };

/**
 * Walks a pack from record to record. Behind a damaged header it looks for the next one, so that no
 * record is lost over the one before it.
 *
 * A header of zeros is one that is not written yet (a large content is on its way); a pack may end
 * there. `sealed`: no writer is at work, so what is behind zeros is looked at as well.
 */
export function* walkPack(fd: number, options: { readonly sealed: boolean }): Generator<Walked> {
  const size = fs.fstatSync(fd).size;
  const buffer = Buffer.alloc(HEADER_BYTES);
  let offset = 0;
  while (offset < size) {
    fs.readSync(fd, buffer, 0, HEADER_BYTES, offset);
    const header = offset + HEADER_BYTES <= size ? readHeader(buffer, 0) : 'invalid';
    if (header !== 'invalid' && endOf(offset, header) <= size) {
      yield { kind: 'record', offset, header };
      offset = endOf(offset, header);
      continue;
    }
    const isUnwritten = buffer.every((byte) => byte === 0) && !options.sealed;
    const next = isUnwritten ? 'none' : findRecord(fd, offset + 1, size);
    if (next === 'none') {
      yield { kind: 'tail', offset };
      return;
    }
    yield { kind: 'gap', offset, end: next };
    offset = next;
  }
}

const PIECE_BYTES = 1024 * 1024;

function endOf(offset: number, { storedLength }: RecordHeader): number {
  return offset + HEADER_BYTES + storedLength;
}

/**
 * Finds the next record at or after an offset. Its bytes must be whole: the contents that are stored
 * may hold the files of some other store, and what looks like a record there must not lead the walk
 * over records of ours.
 */
function findRecord(fd: number, from: number, size: number): number | 'none' {
  const piece = Buffer.allocUnsafeSlow(PIECE_BYTES);
  const reader = new PackReader(fd);
  for (let start = from; start + HEADER_BYTES <= size; ) {
    const count = fs.readSync(fd, piece, 0, piece.length, start);
    if (count < HEADER_BYTES) return 'none';
    const bytes = piece.subarray(0, count);
    for (let at = bytes.indexOf(MAGIC_BYTES); at >= 0; at = bytes.indexOf(MAGIC_BYTES, at + 1)) {
      const header = readHeader(bytes, at);
      if (header === 'invalid' || endOf(start + at, header) > size) continue;
      if (reader.isWhole(start + at, header)) return start + at;
    }
    // A header that lies across the end of this piece begins the next one.
    start += count - HEADER_BYTES + 1;
  }
  return 'none';
}
