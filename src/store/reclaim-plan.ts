import fs from 'node:fs';
import type { Sha256 } from '../core/image.js';
import { type PackContents, type PackRecord, packContents } from './pack-contents.js';
import { readPackIndex } from './pack-index.js';
import { listPacks, packPath } from './pack-writer.js';
import { isWholeAt, type Place } from './repack.js';

/** A pack that goes: what of it must be copied before. */
export type Goer = {
  readonly number: number;
  readonly size: number;
  readonly repacked: boolean;
  readonly keep: readonly PackRecord[];
};

/** Which packs go so that space comes free. */
export type ReclaimPlan = {
  /** Packs in which nothing is needed. */
  readonly dead: readonly Goer[];
  /** Packs that are mostly dead, or small and many: in batches that become one pack each. */
  readonly batches: readonly (readonly Goer[])[];
  /** Packs that would take less space if they were repacked, in such batches as well. */
  readonly raw: readonly (readonly Goer[])[];
};

/** Which packs are repacked only to take less space: none, those that are soon done, all. */
export type Repacking = 'none' | 'small' | 'all';

/** Small packs are made one where they are so many: each costs every process a file to open. */
const SMALL_BYTES = 1024 * 1024;
const MANY_SMALL = 32;

/** So much is copied at once, so that a store never needs much more space than it has. */
const BATCH_BYTES = 64 * 1024 * 1024;

/** Packs up to this size are repacked after a close, once they are this many bytes together. */
const SOON_DONE_BYTES = 16 * 1024 * 1024;
const MUCH_RAW_BYTES = 64 * 1024 * 1024;
/** Less than this together is not worth a new pack. */
const LITTLE_BYTES = 64 * 1024;

/** Decides which sealed packs go; a pack without an index may have a writer and is left alone. */
export function planReclaim(
  directory: string,
  isNeeded: (sha256: Sha256) => boolean,
  repacking: Repacking = 'none',
): ReclaimPlan {
  const packs = listPacks(directory).flatMap((number) => {
    const contents = packContents(directory, number);
    return contents === 'unsealed' ? [] : [contents];
  });
  const goers = attribute(directory, packs, isNeeded);
  const dead = goers.filter(({ keep }) => keep.length === 0);
  const alive = goers.filter(({ keep }) => keep.length > 0);
  const small = alive.filter(({ size }) => size < SMALL_BYTES);
  const mergeSmall = small.length >= MANY_SMALL;
  const moving = alive.filter((goer) => {
    return bytesOf(goer.keep) * 2 < goer.size || (mergeSmall && goer.size < SMALL_BYTES);
  });
  const raw = alive.filter((goer) => {
    if (goer.repacked || moving.includes(goer)) return false;
    return repacking === 'all' || (repacking === 'small' && goer.size <= SOON_DONE_BYTES);
  });
  const bytes = raw.reduce((sum, { keep }) => sum + bytesOf(keep), 0);
  return { dead, batches: inBatches(moving), raw: bytes < LITTLE_BYTES ? [] : inBatches(raw) };
}

/** Reports whether turns have left so much raw that {@link planReclaim} has something to repack soon. */
export function hasMuchRaw(directory: string): boolean {
  const sizes = listPacks(directory).flatMap((number) => {
    const stat = fs.statSync(packPath(directory, number), { throwIfNoEntry: false });
    return stat === undefined || stat.size > SOON_DONE_BYTES ? [] : [{ number, size: stat.size }];
  });
  const isMuch = (some: typeof sizes): boolean =>
    some.reduce((sum, { size }) => sum + size, 0) >= MUCH_RAW_BYTES;
  // Their indexes are only read where it may be so: this is asked after every close.
  return isMuch(sizes) && isMuch(sizes.filter(({ number }) => isRaw(directory, number)));
}

function isRaw(directory: string, number: number): boolean {
  const index = readPackIndex(directory, number);
  return typeof index !== 'string' && !index.repacked;
}

/** Reports whether so many small packs have gathered that {@link planReclaim} makes them one. */
export function hasManySmall(directory: string): boolean {
  const numbers = listPacks(directory);
  if (numbers.length < MANY_SMALL) return false;
  const small = numbers.filter((number) => {
    const stat = fs.statSync(packPath(directory, number), { throwIfNoEntry: false });
    return stat !== undefined && stat.size < SMALL_BYTES;
  });
  return small.length >= MANY_SMALL;
}

/** How many bytes come free, what is copied counted as used. */
export function freedBy({ dead, batches }: ReclaimPlan): number {
  return [...dead, ...batches.flat()].reduce(
    (sum, { size, keep }) => sum + size - bytesOf(keep),
    0,
  );
}

/** Bytes that records take. */
function bytesOf(records: readonly PackRecord[]): number {
  return records.reduce((sum, { length }) => sum + length, 0);
}

/**
 * Gives each needed content to one pack. Where several hold it, the first one whose bytes are whole
 * keeps it: a copy must not go because there is another one that nobody can read.
 */
function attribute(
  directory: string,
  packs: readonly PackContents[],
  isNeeded: (sha256: Sha256) => boolean,
): Goer[] {
  const owners = new Map<Sha256, Place>();
  return packs.map(({ number, size, repacked, records }) => {
    const keep = records.filter(({ sha256, offset }) => {
      if (!isNeeded(sha256)) return false;
      const owner = owners.get(sha256);
      if (owner !== undefined && isWholeAt(directory, owner)) return false;
      owners.set(sha256, { pack: number, offset });
      return true;
    });
    return { number, size, repacked, keep };
  });
}

function inBatches(goers: readonly Goer[]): Goer[][] {
  const batches: Goer[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  // Small ones first; what was written later comes later, so that a file's versions are met in order.
  const order = (a: Goer, b: Goer): number => {
    const classes = [a, b].map(({ keep }) => (bytesOf(keep) > BATCH_BYTES ? 1 : 0));
    return (classes[0] ?? 0) - (classes[1] ?? 0) || a.number - b.number;
  };
  for (const goer of [...goers].sort(order)) {
    const more = bytesOf(goer.keep);
    if (bytes + more > BATCH_BYTES) {
      batches.push([]);
      bytes = 0;
    }
    batches.at(-1)?.push(goer);
    bytes += more;
  }
  return batches;
}
