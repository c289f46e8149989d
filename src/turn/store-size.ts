import fs from 'node:fs';
import { join } from 'node:path';
import { BigFiles } from '../store/big-files.js';
import type { StoreLayout } from '../store/layout.js';
import { Trash } from '../store/trash.js';

/** Bytes of a store by what they are for. */
export type StoreSizes = {
  /** Contents: packs, and files over the limit that no name in the workspace shares. */
  readonly packs: number;
  readonly manifests: number;
  /** The log, and the lists of changes and events beside it. */
  readonly log: number;
  /** What was pruned and waits for its deletion. */
  readonly trash: number;
};

/** Measures a store. */
export function storeSizes(layout: StoreLayout): StoreSizes {
  return {
    packs: packsSize(layout),
    manifests: sizeOf(layout.manifests),
    log: fileSize(layout.log) + sizeOf(layout.details),
    trash: new Trash(layout).bytes(),
  };
}

/** Measures the contents alone. */
export function packsSize(layout: StoreLayout): number {
  const big = new BigFiles(layout.big);
  const large = big.contents().map((sha256) => ownSize(big.path(sha256)));
  return sizeOf(layout.packs) + large.reduce((sum, bytes) => sum + bytes, 0);
}

/** All bytes of a store, what waits for its deletion included. */
export function totalSize({ packs, manifests, log, trash }: StoreSizes): number {
  return packs + manifests + log + trash;
}

function sizeOf(directory: string): number {
  return fs.readdirSync(directory).reduce((sum, name) => sum + fileSize(join(directory, name)), 0);
}

function fileSize(path: string): number {
  const stat = fs.statSync(path, { throwIfNoEntry: false });
  return stat?.isFile() === true ? stat.size : 0;
}

function ownSize(path: string): number {
  const stat = fs.statSync(path, { throwIfNoEntry: false });
  return stat === undefined || stat.nlink > 1 ? 0 : stat.size;
}
