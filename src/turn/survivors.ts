import type { Change } from '../core/change.js';
import type { Step } from '../core/history.js';
import { type FileImage, type Image, sameImage } from '../core/image.js';
import type { Manifest } from '../core/manifest.js';
import { FLAG, KEY } from '../core/manifest-columns.js';
import { fileKey, linkedFiles } from '../core/placement.js';
import type { PlannedChange } from '../core/planned.js';
import { PreimageError } from '../core/problem.js';
import type { RelPath } from '../core/relpath.js';
import { lookAtAll } from '../files/look-all.js';
import type { Tree } from '../files/tree.js';
import { loadChanges } from '../store/details.js';
import type { Workspace } from './workspace.js';

/**
 * Finds, for each file with several names that a plan puts back, another name of it that still stands
 * untouched: by its inode in the last manifest, then by looking.
 */
export function findSurvivors(
  tree: Tree,
  changes: readonly PlannedChange[],
  baseline: Manifest | 'none',
): Map<string, RelPath> {
  const survivors = new Map<string, RelPath>();
  const files = linkedFiles(changes);
  if (baseline === 'none' || files.size === 0) return survivors;
  const planned = new Set(changes.map(({ path }) => path));
  const inodes = new Set([...files.values()].map(({ image }) => inodeNumber(image.link)));
  const candidates = new Map<RelPath, number>();
  for (let i = 0; i < baseline.count; i++) {
    if (!inodes.has(baseline.key(i, KEY.ino))) continue;
    const path = baseline.path(i);
    if (!planned.has(path)) candidates.set(path, i);
  }
  for (const [path, now] of lookAtAll(tree, candidates.keys(), 'hash-only')) {
    const wasLinked = baseline.has(candidates.get(path) ?? 0, FLAG.linked);
    for (const [key, { image }] of files) {
      const stands = now.stamp.startsWith(`${image.link}:`) && sameImage(now.image, image);
      if (stands && isSameFile(now.image, image, wasLinked)) {
        survivors.set(key, path);
      }
    }
  }
  return survivors;
}

/**
 * Finds, for each file with several names that a plan puts back, a name of it that was put back before:
 * by an apply that did not come to the others, or by an earlier rewind or redo that left them out.
 */
export function findMoved(
  workspace: Workspace,
  tree: Tree,
  seen: {
    readonly changes: readonly PlannedChange[];
    /** Paths of the plan that are as they are to be, with what that is. */
    readonly asBefore: Iterable<readonly [RelPath, Image]>;
    /** All steps that may have put a name of it back, oldest first. */
    readonly since: readonly Step[];
  },
): Map<string, RelPath> {
  const moved = new Map<string, RelPath>();
  const files = linkedFiles(seen.changes);
  if (files.size === 0) return moved;
  const candidates = new Map<RelPath, FileImage>();
  for (const [path, image] of [...putBackBefore(workspace, seen.since), ...seen.asBefore]) {
    if (image.kind !== 'content' || image.type !== 'file' || image.link === '') continue;
    if (files.has(fileKey(image))) candidates.set(path, image);
  }
  for (const { path } of seen.changes) candidates.delete(path);
  for (const [path, now] of lookAtAll(tree, candidates.keys(), 'hash-only')) {
    const image = candidates.get(path);
    // By another inode number or by the same one: what is freed is given out again.
    if (image !== undefined && sameImage(now.image, image)) moved.set(fileKey(image), path);
  }
  return moved;
}

/**
 * Gives what rewinds and redos have put back and no step has changed since. What they planned names the
 * file that it was a name of; what they recorded says whether it came to that. A name that was the only
 * one left when it was planned for is known by an earlier plan, of a try that came to the others alone.
 */
function putBackBefore(workspace: Workspace, since: readonly Step[]): Map<RelPath, Image> {
  const put = new Map<RelPath, Image>();
  const links = new Map<string, string>();
  for (const step of since) {
    if (step.end.kind === 'open') continue;
    const changes = ifWhole(() => workspace.changes(step));
    // Who knows what it changed: then names stay files of their own rather than that wrong ones are joined.
    if (changes === 'damaged') put.clear();
    else for (const { path } of changes) put.delete(path);
    if (step.kind !== 'rewind' || changes === 'damaged') continue;
    const plan = ifWhole(() => loadChanges(workspace.layout.details, step.open.plan));
    if (plan === 'damaged') continue;
    for (const { path, before, after } of plan) {
      for (const image of [before, after]) noteLink(links, path, image);
    }
    const planned = new Map(plan.map(({ path, after }) => [path, after]));
    for (const { path, after } of changes) {
      const to = planned.get(path);
      if (to !== undefined && sameImage(after, to)) put.set(path, withLink(links, path, to));
    }
  }
  return put;
}

function noteLink(links: Map<string, string>, path: RelPath, image: Image): void {
  if (image.kind !== 'content' || image.type !== 'file' || image.link === '') return;
  links.set(`${path}/${image.sha256}`, image.link);
}

function withLink(links: ReadonlyMap<string, string>, path: RelPath, image: Image): Image {
  if (image.kind !== 'content' || image.type !== 'file' || image.link !== '') return image;
  return { ...image, link: links.get(`${path}/${image.sha256}`) ?? '' };
}

/** Old records that are damaged are for `verify`; they need not hold up a rewind that can do without. */
function ifWhole(load: () => readonly Change[]): readonly Change[] | 'damaged' {
  try {
    return load();
  } catch (error) {
    if (error instanceof PreimageError && error.code === 'damaged') return 'damaged';
    throw error;
  }
}

/**
 * The number of an inode that is gone is given out again. A file that had other names when it was last
 * scanned, or that was not written since the pre-image, is the very file that is meant.
 */
function isSameFile(now: Image, image: FileImage, wasLinked: boolean): boolean {
  if (wasLinked) return true;
  return now.kind === 'content' && now.type === 'file' && now.mtimeNs === image.mtimeNs;
}

function inodeNumber(link: string): bigint {
  return BigInt(link.split(':')[1] ?? 0);
}
