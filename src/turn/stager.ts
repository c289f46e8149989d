import fs from 'node:fs';
import type { Placement } from '../core/placement.js';
import type { PlannedChange } from '../core/planned.js';
import { isErrno } from '../core/problem.js';
import { type ByteString, joinPath, nameOf, parentOf, type RelPath } from '../core/relpath.js';
import type { NativePath } from '../files/native-path.js';
import {
  type Expected,
  moveIntoPlace,
  type Placed,
  stageFifo,
  stageFile,
  stageHardLink,
  stageLink,
  type Times,
} from '../files/place.js';
import { openTree, spotOf, type Tree } from '../files/tree.js';
import type { Packs } from '../store/packs.js';
import { stagedPrefix } from './leftovers.js';

type Staged = { readonly directory: RelPath; readonly name: ByteString };

/** Writes contents beside their places, and moves them there once all are whole. */
export class Stager {
  readonly #tree: Tree;
  readonly #packs: Packs;
  readonly #prefix: ByteString;
  readonly #sync: boolean;
  readonly #times: Times;
  readonly #staged = new Map<RelPath, Staged>();

  constructor(options: {
    readonly tree: Tree;
    readonly packs: Packs;
    readonly step: number;
    /** Makes each file durable by itself. */
    readonly sync: boolean;
    readonly times: Times;
  }) {
    this.#tree = options.tree;
    this.#packs = options.packs;
    this.#prefix = stagedPrefix(options.step);
    this.#sync = options.sync;
    this.#times = options.times;
  }

  has(path: RelPath): boolean {
    return this.#staged.has(path);
  }

  /** Finds the nearest directory above a path that stands now: what is staged there can be renamed. */
  directoryFor(path: RelPath): RelPath {
    for (let at = parentOf(path); ; at = parentOf(at)) {
      if (at === '' || this.#tree.directory(at).kind === 'directory') return at;
    }
  }

  /**
   * Stages a file, a link or a named pipe; directories need none. What is `heldBack` is its owner's
   * alone until it has its attributes: see `dress.ts`.
   */
  stage({ path, to: whole }: PlannedChange, index: number, heldBack: boolean): Placed {
    if (whole.kind === 'absent' || whole.type === 'directory') return NOTHING;
    const to = heldBack && whole.type !== 'symlink' ? { ...whole, mode: HELD_BACK } : whole;
    const native = this.#reserve(path, index);
    if (typeof native === 'object' && 'kind' in native) return native;
    switch (to.type) {
      case 'symlink':
        return stageLink(native, to);
      case 'fifo':
        return stageFifo(native, to);
      case 'file':
        return stageFile(native, to, {
          fill: (write) => {
            this.#packs.copy(to.sha256, write);
          },
          sync: this.#sync,
          times: this.#times,
        });
    }
  }

  /** Says where a path stands while it is staged; `none` where it is not. */
  placeOf(path: RelPath): RelPath | 'none' {
    const staged = this.#staged.get(path);
    return staged === undefined ? 'none' : joinPath(staged.directory, staged.name);
  }

  /** Stages another name of a file that stands already. */
  stageName(change: PlannedChange, index: number, target: RelPath): Placed {
    // A tree of its own, for both directories must be open at the same time.
    const other = openTree(this.#tree.root);
    try {
      const source = spotOf(other, target);
      if (source.kind !== 'spot') return GONE;
      const native = this.#reserve(change.path, index);
      if (typeof native === 'object' && 'kind' in native) return native;
      return stageHardLink(source.path, native);
    } finally {
      other.close();
    }
  }

  /** Moves what was staged for a path into its place. */
  move({ path }: PlannedChange, expected: Expected): Placed {
    const staged = this.#staged.get(path);
    if (staged === undefined) return NOTHING;
    // The staging directory is the path's own or one above it, so reaching the path keeps it open.
    const from = this.#tree.directory(staged.directory);
    if (from.kind !== 'directory') return GONE;
    const source = from.at(staged.name);
    const place = this.#tree.directory(parentOf(path));
    if (place.kind !== 'directory') return GONE;
    const placed = moveIntoPlace(source, place.at(nameOf(path)), expected);
    if (placed.kind === 'done') this.#staged.delete(path);
    return placed;
  }

  /** Removes what was staged and not moved into place. */
  discard(): void {
    this.#tree.reset();
    for (const { directory, name } of this.#staged.values()) {
      const reached = this.#tree.directory(directory);
      if (reached.kind !== 'directory') continue;
      try {
        fs.unlinkSync(reached.at(name));
      } catch (error) {
        if (!isErrno(error, 'ENOENT')) throw error;
      }
    }
    this.#staged.clear();
  }

  #reserve(path: RelPath, index: number): NativePath | Placed {
    const directory = this.directoryFor(path);
    const reached = this.#tree.directory(directory);
    if (reached.kind !== 'directory') return GONE;
    const name = `${this.#prefix}${index}`;
    this.#staged.set(path, { directory, name });
    return reached.at(name);
  }
}

/** Says whether a placement brings bytes of its own. */
export function bringsBytes(placement: Placement | undefined): boolean {
  return placement === undefined || placement.kind === 'stage';
}

const HELD_BACK = 0o600;

const NOTHING: Placed = { kind: 'done', note: '' };
const GONE: Placed = { kind: 'conflict', reason: 'its directory is not there any more' };
