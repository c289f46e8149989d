import fs from 'node:fs';
import type { Sha256 } from '../core/image.js';
import { isErrno } from '../core/problem.js';
import { CODEC } from './pack-format.js';
import { readPackIndex } from './pack-index.js';
import { PackReader } from './pack-reader.js';
import { walkPack } from './pack-walk.js';
import { listPacks, packPath } from './pack-writer.js';

/** A pack as its bytes say, every one of them read. */
export type CheckedPack = {
  readonly number: number;
  readonly bytes: number;
  /** Records whose bytes are what their hash says, the first of each content. */
  readonly good: ReadonlyMap<Sha256, number>;
  /** What is wrong in it, in words, each with its place in bytes. */
  readonly faults: readonly { readonly offset: number; readonly what: string }[];
  /** Bytes behind the last record that a writer, dead or at work, has not finished. */
  readonly unfinished: number;
  readonly index: 'whole' | 'missing' | 'damaged';
};

/** Reads every byte of every pack and checks it. */
export function checkPacks(directory: string, onProgress: (bytes: number) => void): CheckedPack[] {
  return listPacks(directory).flatMap((number) => {
    const checked = checkPack(directory, number);
    if (checked !== 'gone') onProgress(checked.bytes);
    return checked === 'gone' ? [] : [checked];
  });
}

function checkPack(directory: string, number: number): CheckedPack | 'gone' {
  let fd: number;
  try {
    fd = fs.openSync(packPath(directory, number), 'r');
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return 'gone';
    throw error;
  }
  try {
    const index = readPackIndex(directory, number);
    const bytes = fs.fstatSync(fd).size;
    const good = new Map<Sha256, number>();
    const faults: { offset: number; what: string }[] = [];
    let unfinished = 0;
    const reader = new PackReader(fd);
    // A damaged index is one all the same: the pack was sealed.
    const sealed = index !== 'missing';
    for (const piece of walkPack(fd, { sealed })) {
      const { offset } = piece;
      if (piece.kind === 'gap') {
        faults.push({ offset, what: `${piece.end - offset} bytes are no record` });
      } else if (piece.kind === 'tail') {
        const isBehind = typeof index === 'object' && offset >= index.packLength;
        if (!sealed || isBehind) unfinished = bytes - offset;
        else faults.push({ offset, what: `the last ${bytes - offset} bytes are no record` });
      } else if (reader.isWhole(offset, piece.header)) {
        if (piece.header.codec === CODEC.block) continue;
        if (!good.has(piece.header.sha256)) good.set(piece.header.sha256, offset);
      } else {
        const what = `the content ${piece.header.sha256.slice(0, 12)}… is not what was written`;
        faults.push({ offset, what });
      }
    }
    if (typeof index === 'object' && index.packLength > bytes) {
      faults.push({ offset: bytes, what: `${index.packLength - bytes} bytes are cut off` });
    }
    const fits = typeof index === 'object' && isIndexOf(index, good, faults.length);
    return { number, bytes, good, faults, unfinished, index: fits ? 'whole' : stateOf(index) };
  } finally {
    fs.closeSync(fd);
  }
}

function stateOf(index: ReturnType<typeof readPackIndex>): 'missing' | 'damaged' {
  return index === 'missing' ? 'missing' : 'damaged';
}

/** An index must lead to every whole record; where the pack is damaged it may lead to more. */
function isIndexOf(
  index: Exclude<ReturnType<typeof readPackIndex>, string>,
  good: ReadonlyMap<Sha256, number>,
  faults: number,
): boolean {
  if (faults === 0 && index.count !== good.size) return false;
  for (const sha256 of good.keys()) if (index.find(sha256) < 0) return false;
  return true;
}
