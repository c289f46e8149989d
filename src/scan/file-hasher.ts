import fs from 'node:fs';
import type { Sha256, SkipCause } from '../core/image.js';
import type { Manifest } from '../core/manifest.js';
import type { ManifestBuilder } from '../core/manifest-builder.js';
import { FLAG, KEY } from '../core/manifest-columns.js';
import { printable } from '../core/printable.js';
import { isErrno } from '../core/problem.js';
import type { RelPath } from '../core/relpath.js';
import { decideTrust, isSettled, isSpotCheck } from '../core/trust.js';
import { formatSize } from '../core/units.js';
import type { NativePath } from '../files/native-path.js';
import { readStable } from '../files/stable-read.js';
import { isSparse, type Stat, stampOf } from '../files/stat.js';
import type { Device } from './devices.js';
import { Elsewhere } from './elsewhere.js';
import { CHANGED_MEANWHILE } from './listing.js';
import type { OverBudget } from './over-budget.js';
import type { EarlyHash, RestToCopy, ScanRequest } from './request.js';
import type { Waiting, WaitingFile } from './waiting.js';

/** A file that was met on the walk and added to the manifest. */
export type MetFile = {
  readonly index: number;
  /** Its index in the baseline, -1 where it is new. */
  readonly previous: number;
  /** Its stat key equals the baseline's. */
  readonly sameKey: boolean;
  readonly stat: Stat;
  readonly device: Device;
  readonly path: NativePath;
  /** Builds its path below the root: only where it is needed. */
  readonly relative: () => RelPath;
};

/** What is done with files for which there is no time as they are met. */
type Later = {
  /** Where they are put to be read after the walk, if they are. */
  readonly waiting: Waiting | 'none';
  readonly over: OverBudget;
};

/** Gives each file of a walk its hash: the remembered one where it can be trusted, else a new one. */
export class FileHasher {
  readonly warnings: string[] = [];
  hashedFiles = 0;
  hashedBytes = 0;
  /** Captured files and their bytes, read or not. */
  files = 0;
  bytes = 0;
  /** Some row differs from the baseline in hash, flags or text. */
  changed = false;
  /** What still waits to be copied, where that is known. */
  rest: RestToCopy | 'unknown' = 'unknown';
  readonly #request: ScanRequest;
  readonly #builder: ManifestBuilder;
  readonly #later: Later;
  readonly #elsewhere: Elsewhere<MetFile>;
  /** The last file over the size limit was cloned. */
  #clones = false;

  constructor(request: ScanRequest, builder: ManifestBuilder, later: Later) {
    this.#request = request;
    this.#builder = builder;
    this.#later = later;
    this.#elsewhere = new Elsewhere(request.readers);
  }

  /** Gives a file that the walk meets its hash, or lets it wait. */
  hash(file: MetFile): void {
    this.#hash(file, this.#later.waiting);
  }

  /** Gives a file that has waited its hash. */
  hashNow(file: MetFile): void {
    this.#hash(file, 'none');
  }

  #hash(file: MetFile, waiting: Waiting | 'none'): void {
    const { baseline } = this.#request;
    const previous = file.previous;
    const known = baseline !== 'none' && previous >= 0 && !baseline.has(previous, FLAG.skipped);
    const volatile = file.device.volatileInodes.has(file.stat.ino);
    const trust = decideTrust({
      sameKey: known && file.sameKey,
      trusted: known && baseline.has(previous, FLAG.trusted),
      stampsTrusted: file.device.stampsTrusted,
      volatile,
    });
    if (trust === 'reuse' && known) {
      if (!this.#isDue(file.index)) this.#reuse(file, baseline);
      else if (waiting === 'none') this.#spotCheck(file, baseline);
      else waiting.checks.add(file);
      return;
    }
    if (this.#later.over.stays(file)) return;
    const large = this.#isTooLarge(file);
    // Where a large file is not cloned it takes no time; a clone is read to its end.
    if (waiting !== 'none' && (!large || this.#clones)) {
      waiting.files.add(file);
      return;
    }
    if (large) {
      this.#keepLarge(file, volatile);
      return;
    }
    if (volatile) syncFile(file.path);
    else if (this.#useEarly(file) || this.#elsewhere.offer(file)) return;
    this.#read(file, volatile);
  }

  /** Takes what others have read of this walk's files; `all` waits for it. */
  collect(which: 'done' | 'all'): void {
    for (const { file, read } of this.#elsewhere.collect(which)) {
      const { stat } = file;
      if (read.stamp === stampOf(stat)) this.#take(file, { sha256: read.sha256, stat }, false);
      else this.#read(file, false);
    }
  }

  /**
   * Reports whether a file whose stat key is known to stand can be taken over from the baseline as it
   * is, and counts it then. All else is decided by {@link hash}.
   */
  mayTake({ index, previous, device }: Pick<MetFile, 'index' | 'previous' | 'device'>): boolean {
    const { baseline, coverage } = this.#request;
    if (baseline === 'none' || coverage.judgesFiles || this.#isDue(index)) return false;
    if (!device.stampsTrusted || !baseline.has(previous, FLAG.trusted)) return false;
    if (baseline.has(previous, FLAG.skipped)) return false;
    const { volatileInodes } = device;
    if (volatileInodes.size > 0 && volatileInodes.has(baseline.key(previous, KEY.ino)))
      return false;
    const size = Number(baseline.key(previous, KEY.size));
    const { maxFile } = coverage.rules;
    if (maxFile > 0 && size > maxFile) return false;
    this.files += 1;
    this.bytes += size;
    return true;
  }

  #isDue(index: number): boolean {
    return this.#request.spotChecks && isSpotCheck(index, this.#request.round);
  }

  /** Takes back what {@link mayTake} has counted since. */
  uncount({ files, bytes }: { readonly files: number; readonly bytes: number }): void {
    this.files = files;
    this.bytes = bytes;
  }

  #isTooLarge({ stat }: MetFile): boolean {
    const { maxFile } = this.#request.coverage.rules;
    return maxFile > 0 && stat.size > maxFile;
  }

  /** A file over the limit is captured where that costs no space; else its image is skipped. */
  #keepLarge(file: MetFile, volatile: boolean): void {
    const { maxFile } = this.#request.coverage.rules;
    const kept = this.#request.keepLarge(file.path, file.stat);
    this.#clones = kept.kind === 'cloned';
    if (kept.kind === 'cloned') {
      this.#take(file, { sha256: kept.sha256, stat: kept.stat }, volatile);
      return;
    }
    if (kept.kind === 'linked') {
      this.#builder.setKey(file.index, kept.stat);
      this.#builder.setFlags(file.index, FLAG.linkedInStore);
    }
    const size = formatSize(Number(file.stat.size));
    this.#skip(file, 'too-large', `${size} is over the limit of ${formatSize(maxFile)}`);
  }

  #reuse({ index, previous, stat }: MetFile, baseline: Manifest): void {
    this.#builder.copyHash(index, baseline, previous);
    this.#builder.setFlags(index, FLAG.trusted | shapeOf(stat));
    this.files += 1;
    this.bytes += Number(stat.size);
  }

  /** Takes a trusted file over for which no time is left to look at it again. */
  takeUnchecked({ index, previous }: WaitingFile): void {
    const { baseline } = this.#request;
    if (baseline === 'none') return;
    const shape = (baseline.columns.flags[previous] ?? 0) & (FLAG.linked | FLAG.sparse);
    this.#builder.copyHash(index, baseline, previous);
    this.#builder.setFlags(index, FLAG.trusted | shape);
    this.files += 1;
    this.bytes += Number(baseline.key(previous, KEY.size));
  }

  #useEarly(file: MetFile): boolean {
    if (this.#request.early.size === 0 || !file.device.stampsTrusted) return false;
    const early: EarlyHash | undefined = this.#request.early.get(file.relative());
    if (early === undefined || !early.settled || early.stamp !== stampOf(file.stat)) return false;
    if (!this.#request.sink.has(early.sha256)) return false;
    this.#builder.setHash(file.index, early.sha256);
    this.#builder.setFlags(file.index, FLAG.trusted | shapeOf(file.stat));
    this.changed = true;
    this.files += 1;
    this.bytes += Number(file.stat.size);
    return true;
  }

  #read(file: MetFile, volatile: boolean): void {
    this.changed = true;
    const result = readStable(file.path, this.#request.sink);
    switch (result.kind) {
      case 'gone':
        this.#skip(file, 'unreadable', CHANGED_MEANWHILE);
        return;
      case 'skipped':
        this.#skip(file, 'unreadable', result.reason);
        return;
      case 'read':
        this.#take(file, result, volatile);
        return;
    }
  }

  #take(
    { index, device }: MetFile,
    { sha256, stat }: { readonly sha256: Sha256; readonly stat: Stat },
    volatile: boolean,
  ): void {
    this.changed = true;
    this.#builder.setKey(index, stat);
    this.#builder.setHash(index, sha256);
    this.#builder.setFlags(index, shapeOf(stat));
    if (!volatile && isSettled(stat.ctimeNs, device.probe)) {
      this.#builder.setFlags(index, FLAG.trusted);
    }
    this.files += 1;
    this.bytes += Number(stat.size);
    this.hashedFiles += 1;
    this.hashedBytes += Number(stat.size);
    // Here as well as after each directory: one alone may hold all the bytes.
    this.tellProgress();
  }

  /** Tells how far the walk is. */
  tellProgress(): void {
    const { files, bytes } = this;
    const { baseline, onProgress } = this.#request;
    const expected = baseline === 'none' ? 'unknown' : baseline.count;
    const { hashedBytes: copied, rest } = this;
    onProgress({ entries: this.#builder.count, files, bytes, expected, copied, rest });
  }

  /** Hashes what is trusted. A difference is a hole in the trust rule, and must be told. */
  #spotCheck(file: MetFile, baseline: Manifest): void {
    const result = readStable(file.path, this.#request.sink);
    const same = result.kind === 'read' && result.sha256 === baseline.sha256(file.previous);
    // A file that is being written right now has another key: that is no hole.
    const moved = result.kind !== 'read' || stampOf(result.stat) !== stampOf(file.stat);
    if (same) {
      this.#reuse(file, baseline);
      return;
    }
    if (!moved) {
      this.warnings.push(
        `${printable(file.relative())} changed without any of its stamps moving ` +
          `(${new Date(Number(baseline.key(file.previous, KEY.ctime) / 1_000_000n)).toISOString()}). ` +
          'Its earlier bytes may not be restorable; please report this.',
      );
    }
    this.#read(file, false);
  }

  #skip({ index, previous }: MetFile, why: SkipCause, reason: string): void {
    const { baseline } = this.#request;
    this.#builder.setSkipped(index, why, reason);
    const known = baseline !== 'none' && previous >= 0 && baseline.has(previous, FLAG.skipped);
    if (!known || baseline.text(previous) !== reason) this.changed = true;
  }
}

/** Gives the flags that tell a file's names and holes. */
function shapeOf(stat: Stat): number {
  return (stat.nlink > 1n ? FLAG.linked : 0) | (isSparse(stat) ? FLAG.sparse : 0);
}

/** Writes dirty pages of a mapping out, so that the next store into it moves the stamps again. */
function syncFile(path: NativePath): void {
  try {
    const fd = fs.openSync(path, fs.constants.O_RDONLY | (fs.constants.O_NOFOLLOW ?? 0));
    try {
      fs.fsyncSync(fd);
    } finally {
      fs.closeSync(fd);
    }
  } catch (error) {
    // Whatever hinders it hinders the reading as well, and is told there.
    if (!isErrno(error, 'ENOENT', 'ELOOP', 'EACCES', 'EPERM', 'EINVAL', 'EROFS')) throw error;
  }
}
