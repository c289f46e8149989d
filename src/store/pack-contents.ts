import fs from 'node:fs';
import type { Sha256 } from '../core/image.js';
import { isErrno } from '../core/problem.js';
import { CODEC, HEADER_BYTES } from './pack-format.js';
import { readPackIndex, writePackIndex } from './pack-index.js';
import { PackReader } from './pack-reader.js';
import { PackTable } from './pack-table.js';
import { walkPack } from './pack-walk.js';
import { packPath, syncPack } from './pack-writer.js';

/**
 * A content of a pack: where its record starts, and how many bytes it takes, headers included; of a
 * block each content has its share.
 */
export type PackRecord = {
  readonly sha256: Sha256;
  readonly offset: number;
  readonly length: number;
};

/** A pack and what is in it, in the order of the file. */
export type PackContents = {
  readonly number: number;
  readonly size: number;
  /** It was written by a repack, so nothing in it is kept larger than need be. */
  readonly repacked: boolean;
  readonly records: readonly PackRecord[];
};

/** Tells what is in a pack by its index; `unsealed` where it has none that can be used. */
export function packContents(directory: string, number: number): PackContents | 'unsealed' {
  const index = readPackIndex(directory, number);
  if (typeof index === 'string') return 'unsealed';
  const entries = index.entries().sort((a, b) => a.offset - b.offset);
  const size = fs.statSync(packPath(directory, number)).size;
  const records = entries.map(({ sha256, offset, share }, i) => {
    const next = entries[i + 1]?.offset ?? index.packLength;
    return { sha256, offset, length: share ?? next - offset };
  });
  return { number, size, repacked: index.repacked, records };
}

/**
 * Makes the index of a pack that nobody writes to, from its records that are whole. What a writer that
 * died appended last may never have reached the disk; the piece behind the last record goes then. Gives
 * false where the pack is gone.
 */
export function sealPack(
  directory: string,
  number: number,
  options: { readonly writer: 'dead' | 'ended' },
): boolean {
  let fd: number;
  try {
    fd = fs.openSync(packPath(directory, number), options.writer === 'dead' ? 'r+' : 'r');
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return false;
    throw error;
  }
  try {
    syncPack(directory, number);
    const entries = new PackTable();
    let length = 0;
    const reader = new PackReader(fd);
    let tail = false;
    for (const piece of walkPack(fd, { sealed: true })) {
      if (piece.kind === 'tail') tail = true;
      if (piece.kind !== 'record') continue;
      const { offset, header } = piece;
      const { sha256, codec } = header;
      length = offset + HEADER_BYTES + header.storedLength;
      if (codec === CODEC.block || entries.find(sha256) >= 0) continue;
      if (reader.isWhole(offset, header)) entries.set(sha256, offset, 0);
    }
    if (tail && options.writer === 'dead') fs.ftruncateSync(fd, length);
    writePackIndex(directory, number, { entries, packLength: length });
    return true;
  } finally {
    fs.closeSync(fd);
  }
}
