import { isDirectory, isMetadataOnly, type PlannedChange } from '../core/planned.js';
import { parentOf } from '../core/relpath.js';
import { canSyncFileSystem, syncFileSystem, syncPlace } from '../files/sync.js';
import { spotOf, type Tree } from '../files/tree.js';

/** Makes what was applied durable: one by one where there are `few`, else all at once. */
export function syncApplied(tree: Tree, changes: readonly PlannedChange[], few: boolean): void {
  if (!few) {
    syncFileSystem(tree.root);
    return;
  }
  let all = true;
  for (const path of new Set(changes.map((change) => parentOf(change.path)))) {
    const directory = tree.directory(path);
    if (directory.kind === 'directory') all = syncPlace(directory.self) && all;
  }
  // Where nothing was staged, owner, mode and attributes are in the inode itself.
  for (const change of changes) {
    if (!isDirectory(change.to) && !isMetadataOnly(change)) continue;
    const spot = spotOf(tree, change.path);
    if (spot.kind === 'spot') all = syncPlace(spot.path) && all;
  }
  if (!all && canSyncFileSystem()) syncFileSystem(tree.root);
}
