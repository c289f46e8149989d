import type { Change } from '../core/change.js';
import type { Image } from '../core/image.js';
import type { Manifest } from '../core/manifest.js';
import { PreimageError } from '../core/problem.js';
import type { RelPath } from '../core/relpath.js';
import { lookAtAll } from '../files/look-all.js';
import type { Tree } from '../files/tree.js';
import type { PackWriter } from '../store/pack-writer.js';
import { SpoolReader } from '../store/spool.js';
import { CaptureLineSchema, type Control } from './control.js';

/** Pre-images that were asked for by path; the first of a path wins. */
export type Captures = ReadonlyMap<RelPath, Image>;

/** Reads the explicit captures of a step. Throws `damaged` where one cannot be read. */
export function readCaptures(control: Control): Captures {
  const captures = new Map<RelPath, Image>();
  for (const { path, image } of new SpoolReader(control.captures, CaptureLineSchema).read()) {
    if ('invalid' in image) {
      throw new PreimageError('damaged', `${control.captures}: ${image.invalid}.`);
    }
    if (!captures.has(path)) captures.set(path, image);
  }
  return captures;
}

/**
 * Adds to a step's changes those of paths that the scan does not cover (left out by a rule, over the
 * limit) but that were captured by name. Where the manifest knows a path, the manifest counts: it is
 * older.
 */
export function withCaptures(
  changes: readonly Change[],
  captures: Captures,
  sources: { readonly opened: Manifest; readonly tree: Tree; readonly writer: PackWriter },
): Change[] {
  const merged = new Map(changes.map((change) => [change.path, change]));
  const added = [...captures].filter(
    ([path, { kind }]) => kind !== 'skipped' && sources.opened.imageAt(path).kind === 'skipped',
  );
  const paths = added.map(([path]) => path);
  const now = lookAtAll(sources.tree, paths, sources.writer);
  for (const [path, before] of added) {
    const after = now.get(path)?.image;
    if (after !== undefined) merged.set(path, { path, before, after });
  }
  return [...merged.values()];
}
