import crypto from 'node:crypto';
import fs from 'node:fs';
import { join } from 'node:path';
import type { Sha256 } from '../core/image.js';
import { isErrno } from '../core/problem.js';
import { OPEN, PRIVATE_FILE, writeAll } from '../files/durable.js';
import { CODEC } from './pack-format.js';
import type { PackTable } from './pack-table.js';
import { walkPack } from './pack-walk.js';
import { packName } from './retired.js';

/**
 * Where a content's record starts in its pack, in bytes; in a pack that a repack has written also how
 * many bytes of the pack it takes.
 */
type IndexEntry = {
  readonly sha256: Sha256;
  readonly offset: number;
  readonly share?: number;
};

/** Finds contents in one pack. */
export type PackIndex = {
  readonly count: number;
  /** Its writer has ended and made it durable: nothing in it goes any more. */
  readonly sealed: boolean;
  /** Gives the offset of a content's record, -1 where the pack does not hold it. */
  readonly find: (sha256: Sha256) => number;
  /** Gives how many bytes of the pack a content takes, -1 where a repack has not noted it. */
  readonly share: (sha256: Sha256) => number;
  /** Lists all contents with their offsets. */
  readonly entries: () => IndexEntry[];
};

/**
 * Writes the index of a sealed pack: magic, count, 1 where a repack has written it (else 0), length of
 * the pack, 256 running counts by first byte, sorted hashes, offsets (64-bit), then their shares
 * (32-bit) where a repack has written it, SHA-256 of all that. It can be rebuilt, so it is not synced.
 */
export function writePackIndex(
  directory: string,
  pack: number,
  index: {
    readonly entries: PackTable;
    readonly packLength: number;
    readonly repacked?: boolean;
  },
): void {
  const bytes = encode(index.entries, index.packLength, index.repacked === true);
  const path = indexPath(directory, pack);
  const temporary = `${path}.${process.pid}-index.tmp`;
  try {
    const fd = fs.openSync(temporary, OPEN.anew, PRIVATE_FILE);
    try {
      writeAll(fd, bytes);
    } finally {
      fs.closeSync(fd);
    }
    fs.renameSync(temporary, path);
  } catch (error) {
    fs.rmSync(temporary, { force: true });
    throw error;
  }
}

/**
 * Loads a pack's index; where it is missing or damaged, walks the pack's records instead. Such a pack
 * may have a live writer: what follows its last whole record is no damage.
 */
export function loadPackIndex(directory: string, pack: number, packFd: number): PackIndex {
  const sealed = readPackIndex(directory, pack);
  if (typeof sealed !== 'string') return sealed;
  return indexOf(packFd, { sealed: sealed === 'damaged' });
}

/** The index of a sealed pack, with the length that the pack had when it was sealed. */
export type SealedIndex = PackIndex & {
  readonly packLength: number;
  readonly repacked: boolean;
};

/** Reads a pack's index from its file. */
export function readPackIndex(
  directory: string,
  pack: number,
): SealedIndex | 'missing' | 'damaged' {
  try {
    return decode(fs.readFileSync(indexPath(directory, pack)));
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return 'missing';
    throw error;
  }
}

/** Reports whether a pack has an index by now. */
export function isSealed(directory: string, pack: number): boolean {
  return fs.existsSync(indexPath(directory, pack));
}

/** Names an index's file. */
export function indexPath(directory: string, pack: number): string {
  return join(directory, `${packName(pack)}.idx`);
}

const MAGIC = 'PREIMG-I';
const FANOUT_AT = 24;
const HASHES_AT = FANOUT_AT + 256 * 4;
const HASH = 32;
const OFFSET = 8;
const SHARE = 4;
const MOST_SHARE = 0xffffffff;

function encode(entries: PackTable, packLength: number, repacked: boolean): Buffer {
  const { count } = entries;
  const row = HASH + OFFSET + (repacked ? SHARE : 0);
  const bytes = Buffer.alloc(HASHES_AT + count * row + HASH);
  bytes.write(MAGIC, 'latin1');
  bytes.writeUInt32LE(count, 8);
  bytes.writeUInt32LE(repacked ? 1 : 0, 12);
  bytes.writeBigUInt64LE(BigInt(packLength), 16);
  const offsetsAt = HASHES_AT + count * HASH;
  const sharesAt = offsetsAt + count * OFFSET;
  const counts = new Uint32Array(256);
  entries.inOrder().forEach((entry, i) => {
    const at = HASHES_AT + i * HASH;
    entries.copyHash(entry, bytes, at);
    bytes.writeBigUInt64LE(BigInt(entries.offset(entry)), offsetsAt + i * OFFSET);
    const share = Math.min(entries.share(entry), MOST_SHARE);
    if (repacked) bytes.writeUInt32LE(share, sharesAt + i * SHARE);
    const first = bytes.readUInt8(at);
    counts[first] = (counts[first] ?? 0) + 1;
  });
  let running = 0;
  counts.forEach((count, first) => {
    running += count;
    bytes.writeUInt32LE(running, FANOUT_AT + first * 4);
  });
  const end = bytes.length - HASH;
  bytes.set(crypto.createHash('sha256').update(bytes.subarray(0, end)).digest(), end);
  return bytes;
}

function decode(bytes: Buffer): SealedIndex | 'damaged' {
  if (bytes.length < HASHES_AT + HASH || bytes.toString('latin1', 0, 8) !== MAGIC) return 'damaged';
  const count = bytes.readUInt32LE(8);
  const repacked = bytes.readUInt32LE(12) === 1;
  const end = HASHES_AT + count * (HASH + OFFSET + (repacked ? SHARE : 0));
  if (bytes.length !== end + HASH) return 'damaged';
  const sum = crypto.createHash('sha256').update(bytes.subarray(0, end)).digest();
  if (!sum.equals(bytes.subarray(end))) return 'damaged';
  const offsetsAt = HASHES_AT + count * HASH;
  const sharesAt = offsetsAt + count * OFFSET;
  const shareOf = (i: number): { share?: number } =>
    repacked ? { share: bytes.readUInt32LE(sharesAt + i * SHARE) } : {};
  const offsetOf = (i: number): number => Number(bytes.readBigUInt64LE(offsetsAt + i * OFFSET));
  const rowOf = (sha256: Sha256): number => {
    const wanted = Buffer.from(sha256, 'hex');
    const first = wanted[0] ?? 0;
    let low = first === 0 ? 0 : bytes.readUInt32LE(FANOUT_AT + (first - 1) * 4);
    let high = bytes.readUInt32LE(FANOUT_AT + first * 4);
    while (low < high) {
      const middle = (low + high) >>> 1;
      const at = HASHES_AT + middle * HASH;
      const order = bytes.compare(wanted, 0, HASH, at, at + HASH);
      if (order === 0) return middle;
      if (order < 0) low = middle + 1;
      else high = middle;
    }
    return -1;
  };
  return {
    count,
    sealed: true,
    repacked,
    packLength: Number(bytes.readBigUInt64LE(16)),
    find: (sha256) => {
      const i = rowOf(sha256);
      return i < 0 ? -1 : offsetOf(i);
    },
    share: (sha256) => {
      const i = repacked ? rowOf(sha256) : -1;
      return i < 0 ? -1 : bytes.readUInt32LE(sharesAt + i * SHARE);
    },
    entries: () =>
      Array.from({ length: count }, (_, i) => ({
        sha256: bytes.toString('hex', HASHES_AT + i * HASH, HASHES_AT + (i + 1) * HASH),
        offset: offsetOf(i),
        ...shareOf(i),
      })),
  };
}

function indexOf(fd: number, options: { readonly sealed: boolean }): PackIndex {
  const found = new Map<Sha256, number>();
  for (const piece of walkPack(fd, options)) {
    if (piece.kind !== 'record' || piece.header.codec === CODEC.block) continue;
    found.set(piece.header.sha256, piece.offset);
  }
  return {
    count: found.size,
    sealed: false,
    find: (sha256) => found.get(sha256) ?? -1,
    share: () => -1,
    entries: () => [...found].map(([sha256, offset]) => ({ sha256, offset })),
  };
}
