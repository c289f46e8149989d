import fs from 'node:fs';
import { type Content, type Image, sameBytes, sameImage } from '../core/image.js';
import type { Outcome, PlannedChange } from '../core/plan.js';
import { isErrno, PreimageError } from '../core/problem.js';
import { type ByteString, nameOf, parentOf, type RelPath } from '../core/relpath.js';
import { lookAt } from '../files/look.js';
import type { NativePath } from '../files/native-path.js';
import {
  canSyncFileSystem,
  DONE,
  makeStagingDirectory,
  moveIntoPlace,
  type Placed,
  placedError,
  removeExpected,
  setMetadata,
  stageFile,
  stageLink,
  syncFileSystem,
} from '../files/place.js';
import { spotOf, type Tree } from '../files/tree.js';
import type { Packs } from '../store/packs.js';

/** What an apply works with. */
export type ApplyTools = {
  readonly tree: Tree;
  readonly packs: Packs;
  /** Number of the rewind's step: names what is staged. */
  readonly step: number;
  readonly onProgress: (done: number, total: number) => void;
};

/** One path as it stands after an apply. */
export type Applied = { readonly outcome: Outcome; readonly now: Image };

/**
 * Carries out a journalled plan: stages every content beside its place, syncs once, deletes deepest
 * first, makes directories shallowest first, moves what was staged into place, sets modes of
 * directories last, then looks at every path again by its hash.
 *
 * Trouble with one path is its outcome. A full disk while staging ends it before anything was touched.
 */
export function applyPlan(changes: readonly PlannedChange[], tools: ApplyTools): Applied[] {
  const apply = new Apply(changes, tools);
  return apply.run();
}

/** Names what a rewind stages, so that a later one can find what a crash has left. */
function stagedName(step: number, index: number): ByteString {
  return `.preimage-${step}-${index}`;
}

/** Up to this many files are synced one by one; more of them at once with their file system. */
const FEW = 32;

type Staged = { readonly directory: RelPath; readonly name: ByteString };

class Apply {
  readonly #changes: readonly PlannedChange[];
  readonly #tools: ApplyTools;
  readonly #results = new Map<RelPath, Placed>();
  readonly #staged = new Map<RelPath, Staged>();
  readonly #few: boolean;
  #done = 0;

  constructor(changes: readonly PlannedChange[], tools: ApplyTools) {
    this.#changes = changes;
    this.#tools = tools;
    this.#few = changes.length <= FEW || !canSyncFileSystem();
  }

  run(): Applied[] {
    // A root that is gone must stand again before anything can be staged in it.
    this.#each(
      this.#changes.filter((change) => change.path === '' && isNewDirectory(change)),
      (_, path) => makeStagingDirectory(path),
    );
    try {
      this.#changes.forEach((change, index) => {
        if (needsStaging(change)) this.#attempt(change, () => this.#stage(change, index));
        this.#tick();
      });
      if (!this.#few) syncFileSystem(this.#tools.tree.root);
    } catch (error) {
      this.#unstage();
      if (!isErrno(error, 'ENOSPC', 'EDQUOT')) throw error;
      return this.#failAll('no space left on the device; nothing was changed');
    }
    this.#each([...this.#changes].reverse().filter(needsRemoval), (change, path) =>
      removeExpected(path, change.stamp),
    );
    this.#each(
      this.#changes.filter((change) => change.path !== '' && isNewDirectory(change)),
      (_, path) => makeStagingDirectory(path),
    );
    this.#each(
      this.#changes.filter((change) => this.#staged.has(change.path)),
      (change) => this.#moveStaged(change),
    );
    this.#each(this.#changes.filter(isMetadataOnly), (change, path) =>
      change.to.kind === 'content' ? setMetadata(path, change.to) : DONE,
    );
    this.#each([...this.#changes].reverse().filter(hasDirectoryMode), (change, path) =>
      change.to.kind === 'content' ? setMetadata(path, change.to) : DONE,
    );
    this.#unstage();
    this.#syncDirectories();
    return this.#changes.map((change) => this.#verify(change));
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
        return { kind: 'conflict', reason: 'its directory is not there any more' };
      });
    }
  }

  #attempt({ path }: PlannedChange, run: () => Placed): void {
    const before = this.#results.get(path) ?? DONE;
    if (before.kind !== 'done') return;
    let placed: Placed;
    try {
      placed = run();
    } catch (error) {
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

  #stage(change: PlannedChange, index: number): Placed {
    const { to, path } = change;
    if (to.kind === 'absent' || to.type === 'directory') return DONE;
    const directory = this.#nearestDirectory(path);
    const name = stagedName(this.#tools.step, index);
    const reached = this.#tools.tree.directory(directory);
    if (reached.kind !== 'directory') {
      return { kind: 'conflict', reason: 'its directory is not there any more' };
    }
    this.#staged.set(path, { directory, name });
    const native = reached.at(name);
    if (to.type === 'symlink') return stageLink(native, to);
    const { sha256 } = to;
    return stageFile(native, to, {
      fill: (write) => {
        this.#tools.packs.copy(sha256, write);
      },
      sync: this.#few,
    });
  }

  /** Finds the nearest directory above a path that stands now: what is staged there can be renamed. */
  #nearestDirectory(path: RelPath): RelPath {
    for (let at = parentOf(path); ; at = parentOf(at)) {
      if (at === '' || this.#tools.tree.directory(at).kind === 'directory') return at;
    }
  }

  #moveStaged(change: PlannedChange): Placed {
    const staged = this.#staged.get(change.path);
    if (staged === undefined) return DONE;
    // The staging directory is the path's own or one above it, so reaching the path keeps it open.
    const from = this.#tools.tree.directory(staged.directory);
    if (from.kind !== 'directory')
      return { kind: 'conflict', reason: 'its directory was replaced' };
    const source = from.at(staged.name);
    const place = this.#tools.tree.directory(parentOf(change.path));
    if (place.kind !== 'directory') {
      return { kind: 'conflict', reason: 'its directory is not there any more' };
    }
    const expected = needsRemoval(change) ? '' : change.stamp;
    const placed = moveIntoPlace(source, place.at(nameOf(change.path)), expected);
    if (placed.kind === 'done') this.#staged.delete(change.path);
    return placed;
  }

  /** Removes what was staged and not moved into place. */
  #unstage(): void {
    this.#tools.tree.reset();
    for (const { directory, name } of this.#staged.values()) {
      const reached = this.#tools.tree.directory(directory);
      if (reached.kind !== 'directory') continue;
      try {
        fs.unlinkSync(reached.at(name));
      } catch (error) {
        if (!isErrno(error, 'ENOENT')) throw error;
      }
    }
    this.#staged.clear();
  }

  #syncDirectories(): void {
    const { tree } = this.#tools;
    if (!this.#few) {
      syncFileSystem(tree.root);
      return;
    }
    for (const path of new Set(this.#changes.map((change) => parentOf(change.path)))) {
      const directory = tree.directory(path);
      if (directory.kind !== 'directory') continue;
      const fd = fs.openSync(directory.self, 'r');
      try {
        fs.fsyncSync(fd);
      } catch (error) {
        if (!isErrno(error, 'EPERM', 'EINVAL', 'EBADF', 'ENOTSUP')) throw error;
      } finally {
        fs.closeSync(fd);
      }
    }
  }

  #verify(change: PlannedChange): Applied {
    const { path, to } = change;
    const now = lookAt(this.#tools.tree, path, 'hash-only').image;
    const result = this.#results.get(path) ?? DONE;
    this.#tick();
    if (result.kind !== 'done') {
      return { outcome: { path, outcome: result.kind, reason: result.reason }, now };
    }
    const outcome = to.kind === 'absent' ? 'deleted' : 'restored';
    if (sameImage(now, to) || (result.note !== '' && sameButOwner(now, to))) {
      return { outcome: { path, outcome, reason: result.note }, now };
    }
    const reason = 'what stands there now is not what was written';
    return { outcome: { path, outcome: 'failed', reason }, now };
  }

  #failAll(reason: string): Applied[] {
    return this.#changes.map(({ path, from }) => ({
      outcome: { path, outcome: 'failed', reason },
      now: from,
    }));
  }

  #tick(): void {
    this.#done += 1;
    this.#tools.onProgress(this.#done, 2 * this.#changes.length);
  }
}

function isDirectory(image: Image): boolean {
  return image.kind === 'content' && image.type === 'directory';
}

function isMetadataOnly({ from, to }: PlannedChange): boolean {
  if (from.kind !== 'content' || to.kind !== 'content' || isDirectory(to)) return false;
  return sameBytes(from, to);
}

function needsStaging(change: PlannedChange): boolean {
  return change.to.kind === 'content' && !isDirectory(change.to) && !isMetadataOnly(change);
}

/** A rename replaces a file or a link by a file or a link; everything else must go first. */
function needsRemoval({ from, to }: PlannedChange): boolean {
  if (from.kind === 'absent') return false;
  return to.kind === 'absent' || isDirectory(from) !== isDirectory(to);
}

function isNewDirectory({ from, to }: PlannedChange): boolean {
  return isDirectory(to) && !isDirectory(from);
}

function hasDirectoryMode({ to }: PlannedChange): boolean {
  return isDirectory(to);
}

function sameButOwner(now: Image, to: Content | { readonly kind: 'absent' }): boolean {
  if (now.kind !== 'content' || to.kind !== 'content') return false;
  return sameImage({ ...now, uid: to.uid, gid: to.gid }, to);
}
