import { DEFAULT_ACL, listAttributes } from '../core/attributes.js';
import { attributesOf, type Content } from '../core/image.js';
import { isDirectory, type PlannedChange } from '../core/planned.js';
import { type ByteString, parentOf, type RelPath } from '../core/relpath.js';
import { changeAttributes, readAttributes } from '../files/attributes.js';
import { attributesBelow, holdable, withHeldPaths } from '../files/held-paths.js';
import type { NativePath } from '../files/native-path.js';
import {
  CHANGED,
  DONE,
  type Placed,
  placedError,
  setMetadata,
  type Times,
} from '../files/place.js';
import { lstat, permissionsOf } from '../files/stat.js';
import { syncPlace } from '../files/sync.js';
import { spotOf, type Tree } from '../files/tree.js';

/** A content that stands at a path and lacks the attributes that it is to have. */
export type Undressed = {
  readonly change: PlannedChange;
  /** Where it stands now: its own path, or beside it. */
  readonly path: RelPath;
};

/**
 * Finds the changes that make something anew which is to have attributes, or which inherits an ACL from
 * its directory and is to have none.
 */
export function findUndressed(
  tree: Tree,
  made: readonly PlannedChange[],
  directoryFor: (path: RelPath) => RelPath,
): Set<RelPath> {
  const known = made.filter(({ to }) => attributesOf(to) !== undefined);
  const directories = new Map<RelPath, RelPath>();
  for (const { path } of known) {
    // What is made in a directory that is made itself begins where that begins.
    directories.set(path, directories.get(parentOf(path)) ?? directoryFor(path));
  }
  const inheriting = findInheriting(tree, new Set(directories.values()));
  const undressed = known.filter(({ path, to }) => {
    return attributesOf(to) !== '' || inheriting.has(directories.get(path) ?? path);
  });
  return new Set(undressed.map(({ path }) => path));
}

/** What a content gets with its attributes: a sync of its own, a time. */
type Finish = { readonly sync: boolean; readonly times: Times };

/**
 * Reports whether what stands has other attributes than it is to have, or may lose some: the system
 * takes a program's capabilities away where its file is written or gets another owner.
 */
export function mayLackAttributes({ from, to }: PlannedChange, isWritten: boolean): boolean {
  const wanted = attributesOf(to);
  if (wanted === undefined) return false;
  if (attributesOf(from) !== wanted) return true;
  if (wanted === '' || from.kind !== 'content' || to.kind !== 'content') return false;
  return isWritten || from.uid !== to.uid || from.gid !== to.gid;
}

/**
 * Gives contents their attributes, a few programs for all of them together, then owner and permission
 * bits (those of a directory come later). What cannot be set is a note. Says what each came to.
 */
export function dress(
  tree: Tree,
  undressed: readonly Undressed[],
  options: Finish,
): Map<RelPath, Placed> {
  const placed = new Map<RelPath, Placed>();
  for (const part of holdable(undressed)) {
    const paths = part.map(({ path }) => path);
    withHeldPaths(tree, paths, (held) => {
      const reached = part.flatMap((each, i): Held[] => {
        const path = held[i] ?? 'unreachable';
        return path === 'unreachable' ? [] : [{ ...each, held: path }];
      });
      for (const [path, result] of dressHeld(tree, reached, options)) placed.set(path, result);
    });
  }
  return placed;
}

type Held = Undressed & { readonly held: ByteString };

function dressHeld(tree: Tree, items: readonly Held[], finish: Finish): Map<RelPath, Placed> {
  for (const item of items) at(tree, item, lend);
  const now = readAttributes(items.map(({ held }) => held));
  const jobs = items.map(({ held, change }, i) => {
    return { path: held, from: now[i] ?? '', to: attributesOf(change.to) ?? '' };
  });
  const troubles = changeAttributes(jobs);
  return new Map(
    items.map((item, i): readonly [RelPath, Placed] => {
      const placed = at(tree, item, (path, content) => settle(path, content, finish));
      if (placed.kind !== 'done') return [item.change.path, placed];
      const { words, refused } = troubles[i] ?? { words: '', refused: false };
      if (words !== '' && !refused) return [item.change.path, { kind: 'failed', reason: words }];
      const note = [placed.note, words].filter((each) => each !== '').join('; ');
      return [item.change.path, { kind: 'done', note }];
    }),
  );
}

/** Lets the owner write, for only then may he set attributes; the owner first, for that clears some. */
function lend(path: NativePath, content: Content): Placed {
  const stat = lstat(path);
  if (stat === 'absent' || content.type === 'symlink') return CHANGED;
  return setMetadata(path, { ...content, mode: permissionsOf(stat) | OWNER_WRITE });
}

const OWNER_WRITE = 0o200;

function settle(path: NativePath, content: Content, { sync, times }: Finish): Placed {
  if (isDirectory(content)) return DONE;
  const placed = setMetadata(path, content, times);
  if (sync) syncPlace(path);
  return placed;
}

function at(
  tree: Tree,
  { change, path }: Undressed,
  run: (path: NativePath, content: Content) => Placed,
): Placed {
  try {
    const spot = spotOf(tree, path);
    return spot.kind === 'spot' && change.to.kind === 'content'
      ? run(spot.path, change.to)
      : CHANGED;
  } catch (error) {
    return placedError(error);
  }
}

/** Finds those directories that hand an ACL on to what is made in them. */
function findInheriting(tree: Tree, directories: ReadonlySet<RelPath>): Set<RelPath> {
  const found = new Set<RelPath>();
  for (const [path, attributes] of attributesBelow(tree, [...directories])) {
    // What cannot be told may hand one on.
    const has = listAttributes(attributes ?? '').some(({ name }) => name === DEFAULT_ACL);
    if (has || attributes === undefined) found.add(path);
  }
  return found;
}
