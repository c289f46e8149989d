import type { ManifestBuilder } from '../core/manifest-builder.js';
import { FLAG, KEY } from '../core/manifest-columns.js';
import { isErrno } from '../core/problem.js';
import { parentOf, type RelPath, ROOT } from '../core/relpath.js';
import { formatDuration, formatSize } from '../core/units.js';
import type { NativePath } from '../files/native-path.js';
import { lstat, type Stat } from '../files/stat.js';
import { spotOf, type Tree } from '../files/tree.js';
import type { Device, Devices } from './devices.js';
import type { FileHasher } from './file-hasher.js';
import { CHANGED_MEANWHILE } from './listing.js';
import { OverBudget } from './over-budget.js';
import type { Places } from './places.js';
import type { Budget, FileSum, ScanRequest } from './request.js';
import type { Rows } from './rows.js';
import { Waiting, type WaitingFile } from './waiting.js';

/** What the copying shares with the walk that goes before. */
type Shared = {
  readonly builder: ManifestBuilder;
  readonly rows: Rows;
  readonly places: Places;
  readonly devices: Devices;
  readonly tree: Tree;
};

/**
 * The part of the time that copying has even where the walk took all of it, so that openings one after
 * another come to an end in every tree.
 */
const LEAST_SHARE = 0.1;

/**
 * What was copied must be durable before the command runs, and that takes its time as well: it is done
 * as the copying goes on, so that not all of it comes when the time is over.
 */
const SYNC_BYTES = 32 * 1024 * 1024;

/**
 * Copies what a walk with a time budget has left for later, newest and smallest first, until the time is
 * used up; a file that was begun is read to its end. What is left then is declared, and the next opening
 * goes on there, for what was copied is trusted. Whatever the time, one file that was not captured
 * before is.
 */
export class CopyInOrder {
  /** Where the walk puts what it does not read; `none` without a budget. */
  readonly waiting: Waiting | 'none';
  readonly over: OverBudget;
  readonly #baseline: ScanRequest['baseline'];
  readonly #budget: Budget | 'none';
  readonly #started: number;
  readonly #shared: Shared;

  constructor(request: ScanRequest, shared: Shared) {
    const { baseline, budget } = request;
    this.waiting = budget === 'none' ? 'none' : new Waiting();
    this.over = new OverBudget(request, shared.builder, shared.rows);
    this.#baseline = baseline;
    this.#budget = budget;
    this.#started = budget === 'none' ? 0 : budget.now();
    this.#shared = shared;
  }

  run(hasher: FileHasher): void {
    if (this.#budget === 'none' || this.waiting === 'none') return;
    const { ms, now, sync } = this.#budget;
    const until = Math.max(this.#started + ms, now() + ms * LEAST_SHARE);
    const msLeft = () => Math.max(0, until - now());
    this.#copyFiles(hasher, this.waiting, { msLeft, sync });
    const { checks } = this.waiting;
    for (let i = 0; i < checks.count; i++) {
      if (msLeft() > 0) this.#copy(checks.at(i), hasher);
      else hasher.takeUnchecked(checks.at(i));
    }
    const { left } = this.over;
    if (left.files > 0) hasher.warnings.push(warningOf(left, ms));
  }

  #copyFiles(
    hasher: FileHasher,
    waiting: Waiting,
    { msLeft, sync }: { readonly msLeft: () => number; readonly sync: () => void },
  ): void {
    const { builder } = this.#shared;
    const { files } = waiting;
    const order = waiting.inOrder(builder, Date.now());
    const sizeOf = (position: number) => Number(builder.key(files.at(position).index, KEY.size));
    let bytes = order.reduce((sum, position) => sum + sizeOf(position), 0);
    let isNewsSafe = false;
    let durable = hasher.hashedBytes;
    order.forEach((position, done) => {
      const file = files.at(position);
      const left = msLeft();
      const isNews = !this.#wasCaptured(file);
      // Before it is read: by then it may have another size.
      bytes -= sizeOf(position);
      hasher.rest = { files: order.length - done - 1, bytes, ms: left };
      if (left === 0 && (isNewsSafe || !isNews)) {
        this.over.leave(file, this.#deviceAt(builder.key(file.index, KEY.dev), ROOT));
        return;
      }
      const before = hasher.hashedFiles;
      this.#copy(file, hasher);
      if (isNews && hasher.hashedFiles > before) isNewsSafe = true;
      if (hasher.hashedBytes - durable >= SYNC_BYTES) {
        sync();
        durable = hasher.hashedBytes;
      }
    });
  }

  /** The walk was here some time ago: the file is met anew, by a way that leads through no link. */
  #copy({ index, previous }: WaitingFile, hasher: FileHasher): void {
    const { builder, rows, tree } = this.#shared;
    const path = builder.path(index);
    const met = lookAgain(tree, path);
    if (met === 'gone') {
      rows.skip({ index, previous }, 'unreadable', CHANGED_MEANWHILE);
      return;
    }
    const { stat } = met;
    builder.setKey(index, stat);
    const baseline = this.#baseline;
    const sameKey =
      baseline !== 'none' && previous >= 0 && builder.sameKey(index, baseline, previous);
    if (!sameKey) rows.identical = false;
    const device = this.#deviceAt(stat.dev, parentOf(path));
    hasher.hashNow({ index, previous, sameKey, device, relative: () => path, ...met });
  }

  #wasCaptured({ previous }: WaitingFile): boolean {
    const baseline = this.#baseline;
    return baseline !== 'none' && previous >= 0 && !baseline.has(previous, FLAG.skipped);
  }

  #deviceAt(dev: bigint, directory: RelPath): Device {
    const { devices, places } = this.#shared;
    return devices.at(dev, places.absolute(directory));
  }
}

/** Says what was left. */
function warningOf({ files, bytes }: FileSum, ms: number): string {
  const what = files === 1 ? '1 file' : `${files} files`;
  const were = files === 1 ? 'was' : 'were';
  return (
    `${what} (${formatSize(bytes)}) ${were} not copied in time: over the time budget of ` +
    `${formatDuration(ms)}; what this turn does to ${files === 1 ? 'it' : 'them'} may not be undone`
  );
}

function lookAgain(
  tree: Tree,
  path: RelPath,
): { readonly path: NativePath; readonly stat: Stat } | 'gone' {
  try {
    const spot = spotOf(tree, path);
    if (spot.kind !== 'spot') return 'gone';
    const stat = lstat(spot.path);
    return stat === 'absent' || !stat.isFile() ? 'gone' : { path: spot.path, stat };
  } catch (error) {
    if (isErrno(error, 'EACCES', 'EPERM', 'EIO', 'ESTALE', 'ENOTDIR')) return 'gone';
    throw error;
  }
}
