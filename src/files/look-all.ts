import { attributesOf, type Image } from '../core/image.js';
import type { DiskState } from '../core/plan-request.js';
import type { RelPath } from '../core/relpath.js';
import { attributesBelow } from './held-paths.js';
import { lookAt } from './look.js';
import type { Tree } from './tree.js';

/** What stands at some paths, attributes included: those are asked for all at once. */
export function lookAtAll(
  tree: Tree,
  paths: Iterable<RelPath>,
  how: Parameters<typeof lookAt>[2],
  onLook: () => void = () => {},
): Map<RelPath, DiskState> {
  const seen = new Map<RelPath, DiskState>();
  for (const path of paths) {
    seen.set(path, lookAt(tree, path, how));
    onLook();
  }
  const asked = [...seen].flatMap(([path, { image }]) => (lacksAttributes(image) ? [path] : []));
  // RACE: as with the bytes; what is written later is compared with the stat key that was seen first.
  for (const [path, attributes] of attributesBelow(tree, asked)) {
    const state = seen.get(path);
    if (state?.image.kind !== 'content' || attributes === undefined) continue;
    if (state.image.type === 'symlink') continue;
    seen.set(path, { ...state, image: { ...state.image, attributes } });
  }
  return seen;
}

/** What stands at one path, attributes included. */
export function lookWhole(tree: Tree, path: RelPath, how: Parameters<typeof lookAt>[2]): DiskState {
  return lookAtAll(tree, [path], how).get(path) ?? lookAt(tree, path, how);
}

function lacksAttributes(image: Image): boolean {
  if (image.kind !== 'content' || image.type === 'symlink') return false;
  return attributesOf(image) === undefined;
}
