import type { DirectoryImage } from '../core/image.js';
import { choosePlacements, inodeOf, type Placement, roundsOf } from '../core/placement.js';
import type { PlannedChange } from '../core/planned.js';
import { isDirectory, isMetadataOnly, isNewDirectory, needsRemoval } from '../core/planned.js';
import { errnoOf, errnoWords, isShortage, PreimageError } from '../core/problem.js';
import { parentOf, type RelPath } from '../core/relpath.js';
import { writeInPlace } from '../files/in-place.js';
import type { NativePath } from '../files/native-path.js';
import {
  DONE,
  type Expected,
  makeStagingDirectory,
  type Placed,
  placedError,
  removeExpected,
  setMetadata,
  type Times,
} from '../files/place.js';
import { canSyncFileSystem, syncFileSystem, syncPlace } from '../files/sync.js';
import { spotOf, type Tree } from '../files/tree.js';
import type { Packs } from '../store/packs.js';
import { bringsBytes, Stager } from './stager.js';
import { closedDirectory, directoriesOf, lock, unlock } from './unlocked.js';
import { type Applied, verifyApplied } from './verify-applied.js';

/** What an apply works with. */
export type ApplyTools = {
  readonly tree: Tree;
  readonly packs: Packs;
  /** Number of the rewind's step: names what is staged. */
  readonly step: number;
  /** Files that still stand, by inode: see `choosePlacements`. */
  readonly survivors: ReadonlyMap<string, RelPath>;
  /** Files that were put back already, as other inodes. */
  readonly moved: ReadonlyMap<string, RelPath>;
  /** It was begun before a crash: a shortage is thrown then, for it must not end half way. */
  readonly resumed: boolean;
  readonly times: Times;
  readonly onProgress: (done: number, total: number) => void;
};

/**
 * Carries out a journalled plan: stages every content beside its place, syncs once, deletes deepest
 * first, makes directories shallowest first, moves what was staged into place, sets modes of
 * directories last, then looks at every path again by its hash.
 *
 * Trouble with one path is its outcome. A full disk (or no descriptor left) while staging ends it
 * before anything was touched.
 */
export function applyPlan(changes: readonly PlannedChange[], tools: ApplyTools): Applied[] {
  return new Apply(changes, tools).run();
}

/** Up to this many files are synced one by one; more of them at once with their file system. */
const FEW = 32;

class Apply {
  readonly #changes: readonly PlannedChange[];
  readonly #tools: ApplyTools;
  readonly #results = new Map<RelPath, Placed>();
  readonly #placements: ReadonlyMap<RelPath, Placement>;
  readonly #stager: Stager;
  readonly #unlocked = new Map<RelPath, DirectoryImage>();
  /** Inodes of which a name was replaced or removed: their ctime moved by our own hand. */
  readonly #touched = new Set<string>();
  /** Paths whose old content was removed to make room for another type. */
  readonly #gone = new Set<RelPath>();
  readonly #few: boolean;
  #done = 0;

  constructor(changes: readonly PlannedChange[], tools: ApplyTools) {
    this.#changes = changes;
    this.#tools = tools;
    this.#few = changes.length <= FEW || !canSyncFileSystem();
    this.#placements = choosePlacements(changes, tools.survivors, tools.moved);
    this.#stager = new Stager({ ...tools, sync: this.#few });
  }

  run(): Applied[] {
    const changes = this.#changes;
    const backwards = [...changes].reverse();
    // A root that is gone must stand again before anything can be staged in it.
    this.#each(
      changes.filter((change) => change.path === '' && isNewDirectory(change)),
      (_, path) => makeStagingDirectory(path),
    );
    this.#unlock();
    const lack = this.#stageAll();
    if (lack !== '') return this.#nothingDone(lack);
    this.#each(backwards.filter(needsRemoval), (change, path) =>
      this.#touching(change, removeExpected(path, this.#expected(change))),
    );
    this.#each(
      changes.filter((change) => change.path !== '' && isNewDirectory(change)),
      (_, path) => makeStagingDirectory(path),
    );
    const placed = changes.filter((change) => this.#needsPlacing(change));
    for (const round of roundsOf(placed, this.#placements)) {
      this.#each(round, (change, path) => this.#place(change, path));
    }
    this.#each(
      changes.filter((change) => isMetadataOnly(change) && !this.#needsPlacing(change)),
      (change, path) => setPlannedMetadata(change, path, this.#tools.times),
    );
    this.#stager.discard();
    this.#each(backwards.filter(hasDirectoryMode), (change, path) =>
      setPlannedMetadata(change, path, this.#tools.times),
    );
    this.#lock();
    this.#syncDirectories();
    return changes.map((change) => {
      this.#tick();
      return verifyApplied(this.#tools.tree, change, this.#results.get(change.path) ?? DONE);
    });
  }

  /** Gives in words what the system lacks, `''` where all is staged. */
  #stageAll(): string {
    try {
      this.#changes.forEach((change, index) => {
        this.#tick();
        if (!this.#needsPlacing(change) || !bringsBytes(this.#placements.get(change.path))) return;
        this.#attempt(change, () => this.#stager.stage(change, index), 'untouched');
      });
      if (!this.#few) syncFileSystem(this.#tools.tree.root);
      return '';
    } catch (error) {
      this.#stager.discard();
      this.#lock();
      if (this.#tools.resumed || errnoOf(error) === '') throw error;
      return errnoWords(error);
    }
  }

  /** Reports whether a file, link or named pipe must be put into its place. */
  #needsPlacing(change: PlannedChange): boolean {
    if (change.to.kind !== 'content' || isDirectory(change.to)) return false;
    const placement = this.#placements.get(change.path);
    return placement === undefined ? !isMetadataOnly(change) : placement.kind !== 'keep';
  }

  #place(change: PlannedChange, path: NativePath): Placed {
    const placement = this.#placements.get(change.path) ?? { kind: 'stage' };
    const { to } = change;
    switch (placement.kind) {
      case 'with':
        return this.#results.get(placement.path) ?? DONE;
      case 'in-place':
        if (to.kind !== 'content' || to.type !== 'file') return DONE;
        // It is checked before the first byte is written: here is no staged file to throw away.
        this.#tools.packs.copy(to.sha256, () => {});
        return writeInPlace(path, to, {
          fill: (write) => {
            this.#tools.packs.copy(to.sha256, write);
          },
          expected: this.#expected(change),
          times: this.#tools.times,
        });
      case 'link': {
        const target = this.#results.get(placement.to) ?? DONE;
        if (target.kind !== 'done') return target;
        const index = this.#changes.indexOf(change);
        const staged = this.#stager.stageName(change, index, placement.to);
        if (staged.kind !== 'done') return staged;
        return this.#touching(change, this.#stager.move(change, this.#expected(change)));
      }
      case 'keep':
        return DONE;
      case 'stage':
        return this.#touching(change, this.#stager.move(change, this.#expected(change)));
    }
  }

  /** Runs one step for each path that has had no trouble yet. */
  #each(
    changes: readonly PlannedChange[],
    run: (change: PlannedChange, path: NativePath) => Placed,
  ): void {
    this.#tools.tree.reset();
    for (const change of changes) {
      this.#attempt(change, () => {
        const spot = spotOf(this.#tools.tree, change.path);
        if (spot.kind === 'spot') return run(change, spot.path);
        if (spot.kind === 'unreachable') return { kind: 'failed', reason: spot.reason };
        return { kind: 'conflict', reason: 'its directory is not there any more' };
      });
    }
  }

  /** A shortage ends it all while nothing was touched; after that it is this path's trouble. */
  #attempt({ path }: PlannedChange, run: () => Placed, workspace = 'touched'): void {
    const before = this.#results.get(path) ?? DONE;
    if (before.kind !== 'done') return;
    let placed: Placed;
    try {
      placed = run();
    } catch (error) {
      if (workspace === 'untouched' && isShortage(error)) throw error;
      // A pre-image that the store has lost or damaged is this path's trouble: nothing of it was
      // moved into place yet.
      placed =
        error instanceof PreimageError && error.code === 'damaged'
          ? { kind: 'failed', reason: error.message }
          : placedError(error);
    }
    const keepsNote = placed.kind === 'done' && placed.note === '';
    this.#results.set(path, keepsNote ? before : placed);
  }

  #expected(change: PlannedChange): Expected {
    if (change.stamp === '' || this.#gone.has(change.path)) return { kind: 'nothing' };
    const anyCtime = change.links > 1 && this.#touched.has(inodeOf(change));
    return { kind: 'stamp', stamp: change.stamp, anyCtime };
  }

  #touching(change: PlannedChange, placed: Placed): Placed {
    if (placed.kind !== 'done') return placed;
    if (needsRemoval(change)) this.#gone.add(change.path);
    if (change.links > 1) this.#touched.add(inodeOf(change));
    return placed;
  }

  /** Opens the directories that their owner has closed to itself: see `isLoan`. */
  #unlock(): void {
    for (const path of directoriesOf(this.#changes)) {
      const image = closedDirectory(this.#tools.tree, path);
      if (image === 'open') continue;
      unlock(this.#tools.tree, path, image);
      this.#unlocked.set(path, image);
    }
  }

  /** Closes again what was opened and has no mode of its own in the plan that was set. */
  #lock(): void {
    const set = new Set(
      this.#changes
        .filter(
          (change) => hasDirectoryMode(change) && this.#results.get(change.path)?.kind === 'done',
        )
        .map(({ path }) => path),
    );
    for (const [path, image] of [...this.#unlocked].reverse()) {
      if (!set.has(path)) lock(this.#tools.tree, path, image);
    }
    this.#unlocked.clear();
  }

  #syncDirectories(): void {
    const { tree } = this.#tools;
    if (!this.#few) {
      syncFileSystem(tree.root);
      return;
    }
    let all = true;
    for (const path of new Set(this.#changes.map((change) => parentOf(change.path)))) {
      const directory = tree.directory(path);
      if (directory.kind === 'directory') all = syncPlace(directory.self) && all;
    }
    // Where nothing was staged, owner and mode are in the inode itself.
    for (const change of this.#changes) {
      if (!hasDirectoryMode(change) && !isMetadataOnly(change)) continue;
      const spot = spotOf(tree, change.path);
      if (spot.kind === 'spot') all = syncPlace(spot.path) && all;
    }
    if (!all && canSyncFileSystem()) syncFileSystem(tree.root);
  }

  #nothingDone(lack: string): Applied[] {
    const failed = { kind: 'failed', reason: `${lack}; nothing was changed` } as const;
    return this.#changes.map((change) => verifyApplied(this.#tools.tree, change, failed));
  }

  #tick(): void {
    this.#done += 1;
    this.#tools.onProgress(this.#done, 2 * this.#changes.length);
  }
}

function setPlannedMetadata({ to }: PlannedChange, path: NativePath, times: Times): Placed {
  return to.kind === 'content' ? setMetadata(path, to, times) : DONE;
}

function hasDirectoryMode({ to }: PlannedChange): boolean {
  return isDirectory(to);
}
