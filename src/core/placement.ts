import type { FileImage } from './image.js';
import type { PlannedChange } from './planned.js';
import { isMetadataOnly } from './planned.js';
import type { RelPath } from './relpath.js';

/** How a file's bytes get to their place. */
export type Placement =
  /** The bytes stand already, in a file that is the right one: only its metadata is set. */
  | { readonly kind: 'keep' }
  /** Staged beside its place, then renamed over it: whole or not at all. */
  | { readonly kind: 'stage' }
  /** Made another name of a file that stands or is placed before. */
  | { readonly kind: 'link'; readonly to: RelPath }
  /** Written into the inode that stands, for it has names that are not ours to replace. */
  | { readonly kind: 'in-place' }
  /** Done with another path, of whose inode it is a name. */
  | { readonly kind: 'with'; readonly path: RelPath };

/** A file with several names that a plan puts back. */
export type LinkedFile = { readonly image: FileImage; readonly names: readonly PlannedChange[] };

/**
 * Chooses how each file of a plan is placed, so that names of one file become names of one file again.
 *
 * Where the inode still stands and all of its names are in the plan, one is staged and the others are
 * linked to it: atomic, and the group stays one. Where names of it lie elsewhere (outside the root, or
 * not asked for), it is written in place, for only so can they stay one; a crash in between is made
 * good from the journal. `survivors` names a file with the wanted content that still stands; `moved`
 * one that was put back already, as another inode: before a crash, or by a rewind that left names out.
 *
 * A file that had one name is never written or changed through a name that it has got since.
 */
export function choosePlacements(
  changes: readonly PlannedChange[],
  survivors: ReadonlyMap<string, RelPath>,
  moved: ReadonlyMap<string, RelPath> = new Map(),
): Map<RelPath, Placement> {
  const placements = new Map<RelPath, Placement>();
  for (const change of changes) {
    if (!isFile(change) || change.to.link !== '') continue;
    const keeps = isMetadataOnly(change) && change.links === 1;
    placements.set(change.path, { kind: keeps ? 'keep' : 'stage' });
  }
  const files = linkedFiles(changes);
  for (const [key, file] of files) {
    const { link } = file.image;
    // The same inode with other bytes at another time: its names cannot all be one again.
    const isOnly = [...files.values()].every(
      (other) => other === file || other.image.link !== link,
    );
    const planned = changes.filter((change) => inodeOf(change) === link).length;
    const there = { survivor: survivors.get(key), moved: moved.get(key) };
    placeNames(placements, file, { isOnly, planned, ...there });
  }
  return placements;
}

/**
 * Groups what is to be placed into rounds: a name that goes to another file leaves its inode before
 * that is written in place, and what is linked to stands before the link is made.
 */
export function roundsOf(
  changes: readonly PlannedChange[],
  placements: ReadonlyMap<RelPath, Placement>,
): PlannedChange[][] {
  const rounds: PlannedChange[][] = [[], [], [], []];
  for (const change of changes) rounds[roundOf(placements, change.path)]?.push(change);
  return rounds;
}

function roundOf(placements: ReadonlyMap<RelPath, Placement>, path: RelPath): number {
  const placement = placements.get(path);
  switch (placement?.kind) {
    case 'link':
      return placements.get(placement.to)?.kind === 'in-place' ? 3 : 1;
    case 'in-place':
    case 'with':
      return 2;
    case 'keep':
    case 'stage':
    case undefined:
      return 0;
  }
}

/** Tells the inode that stands at a planned path, from its stamp; `''` where nothing stands. */
export function inodeOf({ stamp }: Pick<PlannedChange, 'stamp'>): string {
  return stamp.split(':', 2).join(':');
}

/** Groups the names that a plan puts back by the file that they were names of. */
export function linkedFiles(changes: readonly PlannedChange[]): Map<string, LinkedFile> {
  const files = new Map<string, { image: FileImage; names: PlannedChange[] }>();
  for (const change of changes) {
    if (!isFile(change) || change.to.link === '') continue;
    const key = fileKey(change.to);
    const file = files.get(key) ?? { image: change.to, names: [] };
    file.names.push(change);
    files.set(key, file);
  }
  return files;
}

/** Tells files apart: an inode's number is used again, so it must be the same file in all else as well. */
export function fileKey({ link, sha256, mode, uid, gid }: FileImage): string {
  return [link, sha256, mode, uid, gid].join(' ');
}

type PlannedFile = PlannedChange & { readonly to: FileImage };

function isFile(change: PlannedChange): change is PlannedFile {
  return change.to.kind === 'content' && change.to.type === 'file';
}

function placeNames(
  placements: Map<RelPath, Placement>,
  { image, names }: LinkedFile,
  options: {
    readonly isOnly: boolean;
    /** How many names of the inode the plan replaces or removes, whatever it makes of them. */
    readonly planned: number;
    readonly survivor: RelPath | undefined;
    readonly moved: RelPath | undefined;
  },
): void {
  const { isOnly, planned, survivor, moved } = options;
  const standing = names.filter((change) => inodeOf(change) === image.link);
  const [first = names[0]] = standing;
  if (first === undefined) return;
  const keeps = isOnly && standing.length > 0 && standing.every(isMetadataOnly);
  const inPlace = isOnly && standing.length > 0 && planned !== first.links;
  for (const change of names) {
    placements.set(change.path, placementOf(change));
  }

  function placementOf(change: PlannedChange): Placement {
    const stands = inodeOf(change) === image.link;
    if (stands && keeps) return { kind: 'keep' };
    if (change === first && inPlace) return { kind: 'in-place' };
    if (stands && inPlace && first !== undefined) return { kind: 'with', path: first.path };
    if (moved !== undefined) return { kind: 'link', to: moved };
    if (survivor !== undefined && standing.length === 0) return { kind: 'link', to: survivor };
    return change === first || first === undefined
      ? { kind: 'stage' }
      : { kind: 'link', to: first.path };
  }
}
