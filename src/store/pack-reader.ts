import crypto from 'node:crypto';
import fs from 'node:fs';
import { brotliDecompressSync, crc32 } from 'node:zlib';
import type { Sha256 } from '../core/image.js';
import { CODEC, HEADER_BYTES, type RecordHeader, readHeader } from './pack-format.js';

/** Contents over this many bytes are only ever kept raw: what is coded is read in one piece. */
export const MOST_CODED = 64 * 1024 * 1024;

/** Bytes of a payload that names another record: see `CODEC`. */
export const SLICE_BYTES = 12;
export const DELTA_BYTES = 17;

/** Reads the records of one pack, whatever way they are kept. Nothing it gives was checked by hash. */
export class PackReader {
  readonly fd: number;
  /** Blocks by their place, the one used last at the end: contents are mostly asked for in their order. */
  readonly #blocks = new Map<number, Buffer>();

  constructor(fd: number) {
    this.fd = fd;
  }

  header(offset: number): RecordHeader | 'invalid' {
    const bytes = Buffer.alloc(HEADER_BYTES);
    const count = fs.readSync(this.fd, bytes, 0, HEADER_BYTES, offset);
    return count === HEADER_BYTES ? readHeader(bytes, 0) : 'invalid';
  }

  /** Gives the raw bytes of a record that is not kept raw. */
  decode(offset: number, header: RecordHeader): Buffer | 'damaged' {
    if (header.rawLength > MOST_CODED) return 'damaged';
    const payload = this.#payload(offset, header);
    if (payload === 'damaged') return 'damaged';
    const raw = this.#decoded(offset, header, payload);
    return raw !== 'damaged' && raw.length === header.rawLength ? raw : 'damaged';
  }

  /** Reports whether a record's bytes are those that its header names. */
  isWhole(offset: number, header: RecordHeader): boolean {
    const { sha256, codec, rawLength, storedLength } = header;
    if (codec === CODEC.raw) {
      if (rawLength !== storedLength) return false;
      return hashRange(this.fd, offset + HEADER_BYTES, storedLength) === sha256;
    }
    const raw = this.decode(offset, header);
    return raw !== 'damaged' && crypto.hash('sha256', raw, 'hex') === sha256;
  }

  #payload(offset: number, { storedLength, payloadSum }: RecordHeader): Buffer | 'damaged' {
    // Before room is made for it: a length may be wrong.
    if (storedLength > fs.fstatSync(this.fd).size) return 'damaged';
    const bytes = Buffer.allocUnsafeSlow(storedLength);
    const count = fs.readSync(this.fd, bytes, 0, storedLength, offset + HEADER_BYTES);
    return count === storedLength && crc32(bytes) === payloadSum ? bytes : 'damaged';
  }

  #decoded(offset: number, header: RecordHeader, payload: Buffer): Buffer | 'damaged' {
    switch (header.codec) {
      case CODEC.brotli:
      case CODEC.block:
        return inflate(payload, header.rawLength);
      case CODEC.slice: {
        if (payload.length !== SLICE_BYTES) return 'damaged';
        const block = this.#block(Number(payload.readBigUInt64LE(0)), offset);
        const start = payload.readUInt32LE(8);
        return block === 'damaged' ? 'damaged' : block.subarray(start, start + header.rawLength);
      }
      case CODEC.delta:
        return payload.length < DELTA_BYTES ? 'damaged' : this.#undelta(offset, header, payload);
      default:
        return 'damaged';
    }
  }

  #block(at: number, before: number): Buffer | 'damaged' {
    let block = this.#blocks.get(at);
    if (block === undefined) {
      const header = at < before ? this.header(at) : 'invalid';
      if (header === 'invalid' || header.codec !== CODEC.block) return 'damaged';
      const decoded = this.decode(at, header);
      if (decoded === 'damaged') return 'damaged';
      block = decoded;
    }
    this.#blocks.delete(at);
    this.#blocks.set(at, block);
    const [oldest] = this.#blocks.keys();
    if (this.#blocks.size > KEPT_BLOCKS && oldest !== undefined) this.#blocks.delete(oldest);
    return block;
  }

  #undelta(offset: number, { rawLength }: RecordHeader, payload: Buffer): Buffer | 'damaged' {
    const base = this.#base(Number(payload.readBigUInt64LE(0)), offset);
    const [prefix, suffix] = [payload.readUInt32LE(8), payload.readUInt32LE(12)];
    const length = rawLength - prefix - suffix;
    if (base === 'damaged' || length < 0) return 'damaged';
    if (prefix > base.length || suffix > base.length) return 'damaged';
    const kept = payload.subarray(DELTA_BYTES);
    const middle = payload.readUInt8(16) === CODEC.raw ? kept : inflate(kept, length);
    if (middle === 'damaged') return 'damaged';
    return Buffer.concat([base.subarray(0, prefix), middle, base.subarray(base.length - suffix)]);
  }

  #base(at: number, before: number): Buffer | 'damaged' {
    const header = at < before ? this.header(at) : 'invalid';
    if (header === 'invalid') return 'damaged';
    if (header.codec === CODEC.brotli) return this.decode(at, header);
    if (header.codec !== CODEC.raw || header.rawLength > MOST_CODED) return 'damaged';
    if (header.rawLength !== header.storedLength) return 'damaged';
    if (header.rawLength > fs.fstatSync(this.fd).size) return 'damaged';
    const bytes = Buffer.allocUnsafeSlow(header.rawLength);
    const count = fs.readSync(this.fd, bytes, 0, bytes.length, at + HEADER_BYTES);
    return count === bytes.length ? bytes : 'damaged';
  }
}

/** Decoded blocks that one reader keeps. */
const KEPT_BLOCKS = 2;

function inflate(payload: Buffer, length: number): Buffer | 'damaged' {
  try {
    return brotliDecompressSync(payload, { maxOutputLength: Math.max(1, length) });
  } catch (error) {
    if (error instanceof Error) return 'damaged';
    throw error;
  }
}

/** Hashes a range of a file; a range that the file does not hold has no hash. */
export function hashRange(fd: number, start: number, length: number): Sha256 | 'cut off' {
  const hash = crypto.createHash('sha256');
  const piece = Buffer.allocUnsafeSlow(Math.min(PIECE_BYTES, Math.max(1, length)));
  for (let done = 0; done < length; ) {
    const want = Math.min(piece.length, length - done);
    const count = fs.readSync(fd, piece, 0, want, start + done);
    if (count === 0) return 'cut off';
    hash.update(piece.subarray(0, count));
    done += count;
  }
  return hash.digest('hex');
}

const PIECE_BYTES = 1024 * 1024;
