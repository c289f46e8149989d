import { choosePlacements, inodeOf, type Placement, roundsOf } from '../core/placement.js';
import type { PlannedChange } from '../core/planned.js';
import { isDirectory, isMetadataOnly, isNewDirectory, needsRemoval } from '../core/planned.js';
import { errnoOf, errnoWords, isShortage, PreimageError } from '../core/problem.js';
import type { RelPath } from '../core/relpath.js';
import { writeInPlace } from '../files/in-place.js';
import { lookAtAll } from '../files/look-all.js';
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
  withNote,
} from '../files/place.js';
import { canSyncFileSystem, syncFileSystem } from '../files/sync.js';
import { spotOf, type Tree } from '../files/tree.js';
import type { Packs } from '../store/packs.js';
import { dress, findUndressed, mayLackAttributes, type Undressed } from './dress.js';
import { bringsBytes, Stager } from './stager.js';
import { syncApplied } from './sync-applied.js';
import { OpenedDirectories } from './unlocked.js';
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
  readonly #opened: OpenedDirectories;
  /** Inodes of which a name was replaced or removed: their ctime moved by our own hand. */
  readonly #touched = new Set<string>();
  /** Paths whose old content was removed to make room for another type. */
  readonly #gone = new Set<RelPath>();
  /** What is made anew and has to be given attributes, or freed of inherited ones. */
  #undressed: ReadonlySet<RelPath> = new Set();
  readonly #few: boolean;
  #done = 0;

  constructor(changes: readonly PlannedChange[], tools: ApplyTools) {
    this.#changes = changes;
    this.#tools = tools;
    this.#opened = new OpenedDirectories(tools.tree);
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
    this.#opened.open(changes);
    const made = changes.filter((change) => isNewDirectory(change) || this.#isStaged(change));
    this.#undressed = findUndressed(this.#tools.tree, made, (path) =>
      this.#stager.directoryFor(path),
    );
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
    const bare = changes.filter((change) => this.#lacksAttributes(change));
    this.#dress(bare.map((change) => ({ change, path: change.path })));
    this.#each(
      changes.filter((change) => isMetadataOnly(change) && !this.#needsPlacing(change)),
      (change, path) => setPlannedMetadata(change, path, this.#tools.times),
    );
    this.#stager.discard();
    this.#each(backwards.filter(hasDirectoryMode), (change, path) =>
      setPlannedMetadata(change, path, this.#tools.times),
    );
    this.#lock();
    syncApplied(this.#tools.tree, changes, this.#few);
    return this.#verify((path) => this.#result(path));
  }

  /** Gives in words what the system lacks, `''` where all is staged. */
  #stageAll(): string {
    try {
      this.#changes.forEach((change, index) => {
        this.#tick();
        if (!this.#isStaged(change)) return;
        const heldBack = this.#undressed.has(change.path);
        this.#attempt(change, () => this.#stager.stage(change, index, heldBack), 'untouched');
      });
      this.#dress(
        this.#changes.flatMap((change) => {
          const path = this.#stager.placeOf(change.path);
          return path === 'none' || !this.#undressed.has(change.path) ? [] : [{ change, path }];
        }),
      );
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

  #isStaged(change: PlannedChange): boolean {
    return this.#needsPlacing(change) && bringsBytes(this.#placements.get(change.path));
  }

  /** Reports whether what stands now, after all is in its place, lacks attributes or has others. */
  #lacksAttributes(change: PlannedChange): boolean {
    if (isNewDirectory(change)) return this.#undressed.has(change.path);
    const isKept = !this.#needsPlacing(change);
    const isInPlace = this.#placements.get(change.path)?.kind === 'in-place';
    return (isKept || isInPlace) && mayLackAttributes(change, isInPlace);
  }

  #dress(items: readonly Undressed[]): void {
    this.#tools.tree.reset();
    const { times } = this.#tools;
    const ready = items.filter(({ change }) => this.#result(change.path).kind === 'done');
    for (const [path, placed] of dress(this.#tools.tree, ready, { sync: this.#few, times })) {
      this.#results.set(path, withNote(this.#result(path), placed));
    }
  }

  #place(change: PlannedChange, path: NativePath): Placed {
    const placement = this.#placements.get(change.path) ?? { kind: 'stage' };
    const { to } = change;
    switch (placement.kind) {
      case 'with':
        return this.#result(placement.path);
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
        const target = this.#result(placement.to);
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
    const before = this.#result(path);
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
    this.#results.set(path, withNote(before, placed));
  }

  #result(path: RelPath): Placed {
    return this.#results.get(path) ?? DONE;
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

  /** Closes again what was opened and has no mode of its own in the plan that was set. */
  #lock(): void {
    const set = this.#changes.filter(
      (change) => hasDirectoryMode(change) && this.#result(change.path).kind === 'done',
    );
    this.#opened.close(new Set(set.map(({ path }) => path)));
  }

  #nothingDone(lack: string): Applied[] {
    const failed = { kind: 'failed', reason: `${lack}; nothing was changed` } as const;
    return this.#verify(() => failed);
  }

  /** Looks at every path again. */
  #verify(placed: (path: RelPath) => Placed): Applied[] {
    const paths = this.#changes.map(({ path }) => path);
    const now = lookAtAll(this.#tools.tree, paths, 'hash-only', () => this.#tick());
    return this.#changes.map((change) => {
      const image = now.get(change.path)?.image ?? change.from;
      return verifyApplied(image, change, placed(change.path));
    });
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
