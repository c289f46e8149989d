import { crc32 } from 'node:zlib';
import type { Sha256 } from '../core/image.js';

/** Bytes of a record's header; its payload follows. */
export const HEADER_BYTES = 64;

/** How a payload is kept. Places are bytes from the start of the pack, numbers little-endian. */
export const CODEC = {
  raw: 0,
  /** The content in brotli. */
  brotli: 1,
  /** Small contents one behind the other, in brotli; none that anybody asks for by its hash. */
  block: 2,
  /** A part of a block: place of the block's record (64-bit), start in its raw bytes (32-bit). */
  slice: 3,
  /**
   * A content that begins and ends like another one: place of that one's record (64-bit), which is no
   * delta; how many bytes both begin with (32-bit), how many both end with (32-bit), codec of what is
   * in between (8-bit, raw or brotli); that.
   */
  delta: 4,
} as const;

/** A record's header: magic, codec, raw and stored length in bytes, SHA-256 of the raw bytes. */
export type RecordHeader = {
  readonly sha256: Sha256;
  readonly codec: number;
  readonly rawLength: number;
  readonly storedLength: number;
  /**
   * CRC-32 of a payload that is not raw, else 0: there may be bits in a compressed payload that change
   * nothing in what comes out, and a bit that flipped is to be found all the same.
   */
  readonly payloadSum: number;
};

/**
 * Writes a header into a buffer at an offset.
 *
 * The checksum guards the header alone: it keeps a walk over an unsealed pack in step. A raw payload is
 * guarded by its SHA-256, which every read checks; a second checksum over it would only cost time.
 */
export function writeHeader(target: Buffer, offset: number, header: RecordHeader): void {
  target.fill(0, offset, offset + HEADER_BYTES);
  target.writeUInt32LE(MAGIC, offset);
  target.writeUInt8(header.codec, offset + 4);
  target.writeBigUInt64LE(BigInt(header.rawLength), offset + 8);
  target.writeBigUInt64LE(BigInt(header.storedLength), offset + 16);
  target.write(header.sha256, offset + 24, 32, 'hex');
  target.writeUInt32LE(header.payloadSum, offset + 56);
  const sum = crc32(target.subarray(offset, offset + CHECKED_BYTES));
  target.writeUInt32LE(sum, offset + CHECKED_BYTES);
}

/** Reads a header; `invalid` where there is none or it is damaged. */
export function readHeader(source: Buffer, offset: number): RecordHeader | 'invalid' {
  if (offset + HEADER_BYTES > source.length) return 'invalid';
  if (source.readUInt32LE(offset) !== MAGIC) return 'invalid';
  const sum = crc32(source.subarray(offset, offset + CHECKED_BYTES));
  if (source.readUInt32LE(offset + CHECKED_BYTES) !== sum) return 'invalid';
  return {
    codec: source.readUInt8(offset + 4),
    rawLength: Number(source.readBigUInt64LE(offset + 8)),
    storedLength: Number(source.readBigUInt64LE(offset + 16)),
    sha256: source.toString('hex', offset + 24, offset + 56),
    payloadSum: source.readUInt32LE(offset + 56),
  };
}

/** What each header begins with. */
export const MAGIC_BYTES = Buffer.from('PIR1', 'latin1');

const MAGIC = MAGIC_BYTES.readUInt32LE(0);
const CHECKED_BYTES = 60;
