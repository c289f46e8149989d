import fs from 'node:fs';
import { dirname, join } from 'node:path';
import type { Sha256 } from '../core/image.js';
import { isErrno } from '../core/problem.js';
import { makePrivateDirectory, syncDirectory } from '../files/durable.js';
import { BigFiles } from './big-files.js';
import type { StoreLayout } from './layout.js';
import { indexPath, loadPackIndex } from './pack-index.js';
import { listPacks, packPath, trashOf } from './pack-writer.js';
import { packName, packNumber, type Retired, RetiredList } from './retired.js';
import { GRACE_MS } from './sweep.js';

/** Packs and files over the limit on their way out: moved here, brought back if need be, then deleted. */
export class Trash {
  readonly #layout: StoreLayout;
  readonly #directory: string;

  constructor(layout: StoreLayout) {
    this.#layout = layout;
    this.#directory = trashOf(layout.packs);
  }

  /**
   * Takes things out of the store; the caller holds the log's lock and has made sure that nothing in
   * the log needs them. Whoever relied on one before sees the list longer when it takes that lock.
   */
  retire(entries: readonly Retired[]): void {
    if (entries.length === 0) return;
    makePrivateDirectory(this.#directory);
    new RetiredList(this.#layout.packs).add(entries);
    const now = new Date();
    for (const { name } of entries) {
      for (const [place, kept] of this.#files(name)) {
        ignoreMissing(() => {
          // Its age counts from now on. A file over the limit may be one with a file of the workspace,
          // whose times are not ours to set: for that the ctime counts, which the rename moves.
          if (isPackFile(place)) fs.utimesSync(place, now, now);
          fs.renameSync(place, kept);
        });
      }
    }
    syncDirectory(this.#directory);
    syncDirectory(this.#layout.packs);
  }

  /** Puts something back into its place; false where it is not here (any more). */
  bringBack(name: string): boolean {
    let found = false;
    for (const [place, kept] of this.#files(name)) {
      ignoreMissing(() => {
        makePrivateDirectory(dirname(place));
        fs.renameSync(kept, place);
        found = true;
      });
    }
    if (found) syncDirectory(this.#layout.packs);
    return found;
  }

  /** Lists the contents that are here. */
  contents(): Sha256[] {
    return this.#holdings().flatMap(({ contents }) => contents);
  }

  /** Names what here holds one of these contents. */
  holding(wanted: readonly Sha256[]): string[] {
    const set = new Set(wanted);
    return this.#holdings().flatMap(({ name, contents }) =>
      contents.some((sha256) => set.has(sha256)) ? [name] : [],
    );
  }

  /** Whether something has waited its time. */
  isDue(): boolean {
    return this.#entries().some(({ age }) => age > GRACE_MS);
  }

  /** Deletes what has waited its time, or all if nobody can have begun to rely on it. */
  empty(how: 'all' | 'old'): void {
    for (const { path, age } of this.#entries()) {
      if (how === 'all' || age > GRACE_MS) fs.rmSync(path, { force: true });
    }
  }

  /** Bytes that wait here. */
  bytes(): number {
    return this.#entries().reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** Gives each file of a thing: its place in the store, its place here. */
  #files(name: string): (readonly [string, string])[] {
    const number = packNumber(name);
    if (number === 'none') {
      return [[new BigFiles(this.#layout.big).path(name), join(this.#directory, name)]];
    }
    const { packs } = this.#layout;
    return [
      [packPath(packs, number), packPath(this.#directory, number)],
      [indexPath(packs, number), indexPath(this.#directory, number)],
    ];
  }

  #holdings(): { readonly name: string; readonly contents: readonly Sha256[] }[] {
    const names = listNames(this.#directory);
    const files = names.filter((name) => /^[0-9a-f]{64}$/.test(name));
    const packs = names.length === 0 ? [] : listPacks(this.#directory);
    return [
      ...files.map((name) => ({ name, contents: [name] })),
      ...packs.map((number) => ({ name: packName(number), contents: this.#inPack(number) })),
    ];
  }

  #inPack(number: number): Sha256[] {
    let fd: number;
    try {
      fd = fs.openSync(packPath(this.#directory, number), 'r');
    } catch (error) {
      // RACE: whoever needs it has brought it back since it was listed.
      if (isErrno(error, 'ENOENT')) return [];
      throw error;
    }
    try {
      const { entries } = loadPackIndex(this.#directory, number, fd);
      return entries().map(({ sha256 }) => sha256);
    } finally {
      fs.closeSync(fd);
    }
  }

  #entries(): { readonly path: string; readonly bytes: number; readonly age: number }[] {
    return listNames(this.#directory).flatMap((name) => {
      const path = join(this.#directory, name);
      const stat = fs.statSync(path, { throwIfNoEntry: false });
      if (stat === undefined) return [];
      const since = isPackFile(path) ? stat.mtimeMs : stat.ctimeMs;
      return [{ path, bytes: stat.size, age: Date.now() - since }];
    });
  }
}

function isPackFile(path: string): boolean {
  return /\.(pack|idx)$/.test(path);
}

function ignoreMissing(run: () => void): void {
  try {
    run();
  } catch (error) {
    if (!isErrno(error, 'ENOENT')) throw error;
  }
}

function listNames(directory: string): string[] {
  try {
    return fs.readdirSync(directory);
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ENOTDIR')) return [];
    throw error;
  }
}
