import type { Change } from './change.js';
import { type Image, PERMISSIONS } from './image.js';
import type { Manifest } from './manifest.js';
import { ENTRY, FLAG, KEY } from './manifest-columns.js';
import { joinPath, type RelPath, ROOT } from './relpath.js';

/**
 * Finds what differs between two manifests, in the order of a walk.
 *
 * A path that one side does not list is absent there only if that side listed its directory: else it
 * is `skipped`, for what was not looked at is never taken for absent.
 */
export function diffManifests(before: Manifest, after: Manifest): Change[] {
  const changes: Change[] = [];
  if (before === after) return changes;
  const sides = { before, after };
  // A tree may be deeper than a call stack.
  const open: Level[] = [];
  compare(sides, { path: ROOT, a: 0, b: 0 }, { changes, open });
  for (let level = open.at(-1); level !== undefined; level = open.at(-1)) {
    const more =
      level.kind === 'both'
        ? stepBoth(sides, level, { changes, open })
        : stepOne(sides, level, { changes, open });
    if (!more) open.pop();
  }
  return changes;
}

/**
 * Reports whether the files of two manifests that do not differ are the very same files, written last
 * at the same time: what is put back later is known by that. Where the entries do not stand side by
 * side it is false.
 */
export function sameFiles(before: Manifest, after: Manifest): boolean {
  if (before.count !== after.count) return false;
  for (let i = 0; i < before.count; i++) {
    if (before.type(i) !== ENTRY.file || after.type(i) !== ENTRY.file) {
      if (before.type(i) !== after.type(i)) return false;
      continue;
    }
    if (before.key(i, KEY.mtime) !== after.key(i, KEY.mtime)) return false;
    if (before.key(i, KEY.ino) !== after.key(i, KEY.ino)) return false;
    if (before.has(i, FLAG.linked) !== after.has(i, FLAG.linked)) return false;
  }
  return true;
}

type Sides = { readonly before: Manifest; readonly after: Manifest };

/** Where what is found goes: the changes, and the directories that are gone through now. */
type Found = { readonly changes: Change[]; readonly open: Level[] };

type Range = { readonly start: number; readonly end: number };
type Pair = { readonly path: RelPath; readonly a: number; readonly b: number };
type Level = BothSides | OneSide;

/** A directory's entries on both sides, sorted; a side that is no directory has none. */
type BothSides = Pair & {
  readonly kind: 'both';
  readonly left: Range;
  readonly right: Range;
  i: number;
  j: number;
};

/** Entries that only one side has; the other shows `other` for each of them. */
type OneSide = {
  readonly kind: 'before' | 'after';
  readonly path: RelPath;
  readonly entries: Range;
  readonly other: Image;
  i: number;
};

function compare({ before, after }: Sides, pair: Pair, { changes, open }: Found): void {
  const { path, a, b } = pair;
  if (!isSameEntry(before, a, after, b)) {
    changes.push({ path, before: before.image(a), after: after.image(b) });
  }
  const [left, right] = [before.children(a), after.children(b)];
  if (left.start === left.end && right.start === right.end) return;
  open.push({ kind: 'both', ...pair, left, right, i: left.start, j: right.start });
}

/** Merges the next names of both sides; false at their end. */
function stepBoth(sides: Sides, level: BothSides, found: Found): boolean {
  const { before, after } = sides;
  const { path, a, b, left, right } = level;
  while (level.i < left.end || level.j < right.end) {
    const leftName = level.i < left.end ? before.name(level.i) : undefined;
    const rightName = level.j < right.end ? after.name(level.j) : undefined;
    if (leftName !== undefined && (rightName === undefined || leftName < rightName)) {
      const entry = { kind: 'before', path: joinPath(path, leftName) } as const;
      add(sides, { ...entry, index: level.i++, other: after.absenceIn(b) }, found);
      return true;
    }
    if (rightName !== undefined && (leftName === undefined || rightName < leftName)) {
      const entry = { kind: 'after', path: joinPath(path, rightName) } as const;
      add(sides, { ...entry, index: level.j++, other: before.absenceIn(a) }, found);
      return true;
    }
    if (leftName === undefined) break;
    const pair = { a: level.i++, b: level.j++ };
    // Most entries are files that did not change: no path is built for them.
    const leaf = before.type(pair.a) !== ENTRY.directory && after.type(pair.b) !== ENTRY.directory;
    if (leaf && isSameEntry(before, pair.a, after, pair.b)) continue;
    compare(sides, { path: joinPath(path, leftName), ...pair }, found);
    return true;
  }
  return false;
}

/** Adds the next entry that only one side has; false at their end. */
function stepOne(sides: Sides, level: OneSide, found: Found): boolean {
  const { kind, entries, other } = level;
  if (level.i >= entries.end) return false;
  const index = level.i++;
  add(sides, { kind, path: joinPath(level.path, sides[kind].name(index)), index, other }, found);
  return true;
}

function add(
  sides: Sides,
  entry: Pick<OneSide, 'kind' | 'path' | 'other'> & { readonly index: number },
  { changes, open }: Found,
): void {
  const { kind, path, index, other } = entry;
  const image = sides[kind].image(index);
  changes.push(
    kind === 'before'
      ? { path, before: image, after: other }
      : { path, before: other, after: image },
  );
  const entries = sides[kind].children(index);
  if (entries.start < entries.end) open.push({ kind, path, entries, other, i: entries.start });
}

/** Compares without making objects: most entries are the same. */
function isSameEntry(before: Manifest, a: number, after: Manifest, b: number): boolean {
  const type = before.type(a);
  if (type !== after.type(b)) return false;
  const skipped = before.has(a, FLAG.skipped);
  if (skipped !== after.has(b, FLAG.skipped)) return false;
  // Within a step no name of ours comes or goes, so here the ctime counts.
  if (skipped) return before.stamp(a) === after.stamp(b);
  if (before.key(a, KEY.uid) !== after.key(b, KEY.uid)) return false;
  if (before.key(a, KEY.gid) !== after.key(b, KEY.gid)) return false;
  if (type === ENTRY.symlink) return before.text(a) === after.text(b);
  const mode = (Number(before.key(a, KEY.mode)) ^ Number(after.key(b, KEY.mode))) & PERMISSIONS;
  if (mode !== 0 || !hasSameAttributes(before, a, after, b)) return false;
  return type !== ENTRY.file || before.sameHash(a, after, b);
}

function hasSameAttributes(before: Manifest, a: number, after: Manifest, b: number): boolean {
  if (before.columns.texts[a] === 0 && after.columns.texts[b] === 0) return true;
  const [left, right] = [before.attributes(a), after.attributes(b)];
  return left === undefined || right === undefined || left === right;
}
