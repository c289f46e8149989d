import crypto from 'node:crypto';
import fs from 'node:fs';
import type { Sha256 } from '../core/image.js';
import { CODEC, HEADER_BYTES, type RecordHeader } from './pack-format.js';
import { MOST_CODED, PackReader } from './pack-reader.js';
import { type PackWriter, packPath } from './pack-writer.js';
import type { Repacker } from './repacker.js';

/** Raw contents over {@link MOST_CODED} are copied in pieces of this many bytes. */
const PIECE_BYTES = 1024 * 1024;

/** Where a content lies: pack and offset of its record. */
export type Place = { readonly pack: number; readonly offset: number };

/**
 * Copies contents of a pack into another one, each checked against its hash on the way: as they are, or
 * smaller where there is a repacker. Gives those that could not be copied because they are damaged.
 */
export function copyRecords(
  directory: string,
  pack: number,
  job: {
    readonly offsets: readonly number[];
    readonly writer: PackWriter;
    readonly repacker: Repacker | 'none';
  },
): Sha256[] {
  const damaged: Sha256[] = [];
  const { writer, repacker } = job;
  const known = repacker === 'none' ? writer : repacker;
  const fd = fs.openSync(packPath(directory, pack), 'r');
  const reader = new PackReader(fd);
  try {
    for (const offset of job.offsets) {
      const header = reader.header(offset);
      if (header === 'invalid') continue;
      const { sha256 } = header;
      if (known.has(sha256)) continue;
      if (header.codec === CODEC.raw && header.rawLength > MOST_CODED) {
        if (!copyPieces(fd, { header, start: offset + HEADER_BYTES }, writer)) damaged.push(sha256);
        continue;
      }
      const bytes = readWhole(reader, offset, header);
      if (bytes === 'damaged') damaged.push(sha256);
      else (repacker === 'none' ? writer : repacker).put(sha256, bytes);
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
    const reader = new PackReader(fd);
    const header = reader.header(offset);
    return header !== 'invalid' && reader.isWhole(offset, header);
  } finally {
    fs.closeSync(fd);
  }
}

function readWhole(reader: PackReader, offset: number, header: RecordHeader): Buffer | 'damaged' {
  const { sha256, codec, rawLength } = header;
  let bytes: Buffer | 'damaged';
  if (codec === CODEC.raw) {
    if (rawLength !== header.storedLength) return 'damaged';
    bytes = Buffer.allocUnsafeSlow(rawLength);
    const start = offset + HEADER_BYTES;
    const count = rawLength === 0 ? 0 : fs.readSync(reader.fd, bytes, 0, rawLength, start);
    if (count !== rawLength) return 'damaged';
  } else bytes = reader.decode(offset, header);
  if (bytes === 'damaged' || crypto.hash('sha256', bytes, 'hex') !== sha256) return 'damaged';
  return bytes;
}

function copyPieces(
  fd: number,
  content: { readonly header: RecordHeader; readonly start: number },
  writer: PackWriter,
): boolean {
  const { sha256, storedLength: length } = content.header;
  const stream = writer.stream();
  const hash = crypto.createHash('sha256');
  const piece = Buffer.allocUnsafeSlow(PIECE_BYTES);
  let done = 0;
  while (done < length) {
    const want = Math.min(PIECE_BYTES, length - done);
    const count = fs.readSync(fd, piece, 0, want, content.start + done);
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
