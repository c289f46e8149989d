import crypto from 'node:crypto';
import fs from 'node:fs';
import type { Sha256 } from '../core/image.js';
import { HEADER_BYTES, readHeader } from './pack-format.js';
import { isWhole } from './pack-walk.js';
import { type PackWriter, packPath } from './pack-writer.js';

/** Contents up to this many bytes are copied in one piece. */
const PIECE_BYTES = 1024 * 1024;

/** Where a content lies: pack and offset of its record. */
export type Place = { readonly pack: number; readonly offset: number };

/**
 * Copies records of a pack into another one, each checked against its hash on the way. Gives the
 * contents that could not be copied because they are damaged.
 */
export function copyRecords(
  directory: string,
  pack: number,
  job: { readonly offsets: readonly number[]; readonly writer: PackWriter },
): Sha256[] {
  const damaged: Sha256[] = [];
  const fd = fs.openSync(packPath(directory, pack), 'r');
  try {
    for (const offset of job.offsets) {
      const bytes = Buffer.alloc(HEADER_BYTES);
      fs.readSync(fd, bytes, 0, HEADER_BYTES, offset);
      const header = readHeader(bytes, 0);
      if (header === 'invalid') continue;
      const { sha256, storedLength } = header;
      if (job.writer.has(sha256)) continue;
      if (
        !copyOne(fd, { sha256, start: offset + HEADER_BYTES, length: storedLength }, job.writer)
      ) {
        damaged.push(sha256);
      }
    }
  } finally {
    fs.closeSync(fd);
  }
  return damaged;
}

/** Reports whether a content is whole at a place. */
export function isWholeAt(directory: string, { pack, offset }: Place): boolean {
  const fd = fs.openSync(packPath(directory, pack), 'r');
  try {
    const bytes = Buffer.alloc(HEADER_BYTES);
    fs.readSync(fd, bytes, 0, HEADER_BYTES, offset);
    const header = readHeader(bytes, 0);
    return header !== 'invalid' && isWhole(fd, offset, header);
  } finally {
    fs.closeSync(fd);
  }
}

function copyOne(
  fd: number,
  content: { readonly sha256: Sha256; readonly start: number; readonly length: number },
  writer: PackWriter,
): boolean {
  const { sha256, start, length } = content;
  if (length <= PIECE_BYTES) {
    const bytes = Buffer.alloc(length);
    const count = length === 0 ? 0 : fs.readSync(fd, bytes, 0, length, start);
    if (count !== length || crypto.hash('sha256', bytes, 'hex') !== sha256) return false;
    writer.put(sha256, bytes);
    return true;
  }
  const stream = writer.stream();
  const hash = crypto.createHash('sha256');
  const piece = Buffer.allocUnsafeSlow(PIECE_BYTES);
  let done = 0;
  while (done < length) {
    const count = fs.readSync(fd, piece, 0, Math.min(PIECE_BYTES, length - done), start + done);
    if (count === 0) break;
    hash.update(piece.subarray(0, count));
    stream.write(piece.subarray(0, count));
    done += count;
  }
  const whole = done === length && hash.digest('hex') === sha256;
  if (whole) stream.commit(sha256);
  else stream.abort();
  return whole;
}
