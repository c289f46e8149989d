import type { FileImage } from './image.js';
import type { PlannedChange } from './plan.js';
import type { RelPath } from './relpath.js';

/** How a file's bytes get to their place. */
export type Placement =
  /** Staged beside its place, then renamed over it: whole or not at all. */
  | { readonly kind: 'stage' }
  /** Made another name of a file that stands or is placed before. */
  | { readonly kind: 'link'; readonly to: RelPath }
  /** Written into the inode that stands, for it has names that are not ours to replace. */
  | { readonly kind: 'in-place' }
  /** Done with another path, of whose inode it is a name. */
  | { readonly kind: 'with'; readonly path: RelPath };

/**
 * Chooses how each file of a plan is placed, so that names of one file become names of one file again.
 *
 * Where the inode still stands and all of its names are in the plan, one is staged and the others are
 * linked to it: atomic, and the group stays one. Where names of it lie elsewhere (outside the root, or
 * not asked for), it is written in place, for only so can they stay one; a crash in between is made
 * good from the journal. `survivors` names, by inode, a file with the wanted content that still stands,
 * or that was placed before a crash.
 */
export function choosePlacements(
  changes: readonly PlannedChange[],
  survivors: ReadonlyMap<string, RelPath>,
): Map<RelPath, Placement> {
  const placements = new Map<RelPath, Placement>();
  const firstOf = new Map<string, RelPath>();
  const standing = countStanding(changes);
  const wanted = linksWanted(changes);
  for (const change of changes) {
    if (change.to.kind !== 'content' || change.to.type !== 'file') continue;
    const { link } = change.to;
    placements.set(change.path, placementOf(change, change.to));
    if (link !== '' && !firstOf.has(groupOf(change.to))) {
      firstOf.set(groupOf(change.to), change.path);
    }
  }
  return placements;

  function placementOf(change: PlannedChange, to: FileImage): Placement {
    const { link } = to;
    if (link === '') return { kind: 'stage' };
    const first = firstOf.get(groupOf(to));
    const stands = inodeOf(change) === link;
    if (stands && standing.get(link) !== change.links) {
      return first !== undefined && placements.get(first)?.kind === 'in-place'
        ? { kind: 'with', path: first }
        : { kind: 'in-place' };
    }
    const survivor = survivors.get(link);
    const isWanted = survivor !== undefined && sameGroup(wanted.get(link), to);
    if (isWanted) return { kind: 'link', to: survivor };
    return first === undefined ? { kind: 'stage' } : { kind: 'link', to: first };
  }
}

/** Tells the inode that stands at a planned path, from its stamp; `''` where nothing stands. */
export function inodeOf({ stamp }: Pick<PlannedChange, 'stamp'>): string {
  return stamp.split(':', 2).join(':');
}

/** Lists the inodes whose names a plan puts back. */
export function linksWanted(changes: readonly PlannedChange[]): Map<string, FileImage> {
  const wanted = new Map<string, FileImage>();
  for (const { to } of changes) {
    if (to.kind === 'content' && to.type === 'file' && to.link !== '') wanted.set(to.link, to);
  }
  return wanted;
}

/** An inode's number is used again: names belong together only if they were the same file as well. */
function groupOf({ link, sha256, mode, uid, gid }: FileImage): string {
  return [link, sha256, mode, uid, gid].join(' ');
}

function sameGroup(a: FileImage | undefined, b: FileImage): boolean {
  return a !== undefined && groupOf(a) === groupOf(b);
}

/** Counts, for each inode that is put back and still stands, how many of its names are in the plan. */
function countStanding(changes: readonly PlannedChange[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const change of changes) {
    const { to } = change;
    if (to.kind !== 'content' || to.type !== 'file' || to.link === '') continue;
    if (inodeOf(change) === to.link) counts.set(to.link, (counts.get(to.link) ?? 0) + 1);
  }
  return counts;
}
