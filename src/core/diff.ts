import type { Change } from './change.js';
import { type Image, PERMISSIONS } from './image.js';
import { ENTRY, FLAG, KEY, type Manifest } from './manifest.js';
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
  compareEntries({ before, after, changes }, { path: ROOT, a: 0, b: 0 });
  return changes;
}

type Context = { readonly before: Manifest; readonly after: Manifest; readonly changes: Change[] };
type Pair = { readonly path: RelPath; readonly a: number; readonly b: number };

function compareEntries(context: Context, { path, a, b }: Pair): void {
  const { before, after, changes } = context;
  if (!isSameEntry(before, a, after, b)) {
    changes.push({ path, before: before.image(a), after: after.image(b) });
  }
  compareChildren(context, { path, a, b });
}

/** Merges the two sorted lists of names; a side that is no directory has an empty one. */
function compareChildren(context: Context, { path, a, b }: Pair): void {
  const { before, after } = context;
  const left = before.children(a);
  const right = after.children(b);
  let i = left.start;
  let j = right.start;
  while (i < left.end || j < right.end) {
    const leftName = i < left.end ? before.name(i) : undefined;
    const rightName = j < right.end ? after.name(j) : undefined;
    if (leftName !== undefined && (rightName === undefined || leftName < rightName)) {
      addAll(context, { side: 'before', path: joinPath(path, leftName), index: i++ }, () =>
        after.absenceIn(b),
      );
    } else if (rightName !== undefined && (leftName === undefined || rightName < leftName)) {
      addAll(context, { side: 'after', path: joinPath(path, rightName), index: j++ }, () =>
        before.absenceIn(a),
      );
    } else if (leftName !== undefined) {
      const pair = { a: i++, b: j++ };
      // Most entries are files that did not change: no path is built for them.
      const leaf =
        before.type(pair.a) !== ENTRY.directory && after.type(pair.b) !== ENTRY.directory;
      if (leaf && isSameEntry(before, pair.a, after, pair.b)) continue;
      compareEntries(context, { path: joinPath(path, leftName), ...pair });
    }
  }
}

type OneSided = {
  readonly side: 'before' | 'after';
  readonly path: RelPath;
  readonly index: number;
};

/** Adds a tree that only one side has. */
function addAll(context: Context, { side, path, index }: OneSided, other: () => Image): void {
  const manifest = context[side];
  const image = manifest.image(index);
  context.changes.push(
    side === 'before'
      ? { path, before: image, after: other() }
      : { path, before: other(), after: image },
  );
  const { start, end } = manifest.children(index);
  for (let i = start; i < end; i++) {
    addAll(context, { side, path: joinPath(path, manifest.name(i)), index: i }, other);
  }
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
