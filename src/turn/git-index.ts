import { type GitIndex, parseIndex, sameIndex } from '../core/git/index-file.js';
import { isGitIndex } from '../core/git/paths.js';
import type { FileImage, Image } from '../core/image.js';
import type { DiskState } from '../core/plan-request.js';
import type { RelPath } from '../core/relpath.js';
import type { SquashedChange } from '../core/squash.js';
import type { Tree } from '../files/tree.js';
import type { Packs } from '../store/packs.js';
import { standingBytes } from './standing-bytes.js';
import { storedBytes } from './stored-bytes.js';

/** What a rewind sees of the indexes of repositories once their stat data do not count. */
export type SeenIndexes = {
  readonly squashed: readonly SquashedChange[];
  /** Indexes that stand as they were left, or as they were before, but for stat data. */
  readonly seenAs: ReadonlyMap<RelPath, Image>;
};

/**
 * Looks at indexes as git does: every `git status` may write new stat data into them, and that is no
 * edit of anybody. What cannot be read whole as an index is compared by its bytes, as all else.
 */
export function seeIndexes(
  squashed: readonly SquashedChange[],
  disk: ReadonlyMap<RelPath, DiskState>,
  { tree, packs }: { readonly tree: Tree; readonly packs: Packs },
): SeenIndexes {
  const seenAs = new Map<RelPath, Image>();
  const changes = squashed.map((change) => {
    if (!isGitIndex(change.path)) return change;
    const seen = seeAs(change);
    if (seen !== undefined) seenAs.set(change.path, seen);
    const foreign = change.foreign.filter(({ left, found }) => !sameStored(left, found));
    return foreign.length === change.foreign.length ? change : { ...change, foreign };
  });
  return { squashed: changes, seenAs };

  function seeAs({ path, before, after }: SquashedChange): Image | undefined {
    const now = disk.get(path)?.image;
    if (now === undefined || !isFile(now)) return undefined;
    const same = [after, before].filter(isFile).find(({ sha256 }) => sha256 === now.sha256);
    if (same !== undefined) return undefined;
    const standing = indexIn(standingBytes(tree, path, now));
    const seen = [after, before].filter(isFile).find((image) => isSame(standing, stored(image)));
    // Mode and owner are those that stand: a change of them is an edit.
    return seen === undefined ? undefined : { ...now, sha256: seen.sha256, bytes: seen.bytes };
  }

  function sameStored(left: Image, found: Image): boolean {
    if (!isFile(left) || !isFile(found)) return false;
    const { mode, uid, gid } = found;
    if (mode !== left.mode || uid !== left.uid || gid !== left.gid) return false;
    return isSame(stored(left), stored(found));
  }

  function stored(image: FileImage): GitIndex | 'unreadable' {
    return indexIn(storedBytes(packs, image));
  }
}

function indexIn(bytes: Uint8Array | 'unknown'): GitIndex | 'unreadable' {
  return bytes === 'unknown' ? 'unreadable' : parseIndex(bytes);
}

function isSame(a: GitIndex | 'unreadable', b: GitIndex | 'unreadable'): boolean {
  return a !== 'unreadable' && b !== 'unreadable' && sameIndex(a, b);
}

function isFile(image: Image): image is FileImage {
  return image.kind === 'content' && image.type === 'file';
}
