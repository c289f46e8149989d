import crypto from 'node:crypto';
import { isGitIndex, isGitObject } from '../core/git/paths.js';
import type { Image } from '../core/image.js';
import type { Manifest } from '../core/manifest.js';
import { joinPath, type RelPath } from '../core/relpath.js';
import { type KnownFile, lookAt } from '../files/look.js';
import type { Tree } from '../files/tree.js';

/**
 * A fingerprint of a `.git` at one moment: of all that may name an object, so of all but the objects
 * themselves and the indexes, which git writes anew whenever it looks.
 */
export type GitPrint = string;

/** Takes the fingerprint of a `.git` from a manifest. */
export function printInManifest(manifest: Manifest, directory: RelPath): GitPrint {
  const lines: string[] = [];
  const visit = (path: RelPath, index: number): void => {
    if (isOut(path)) return;
    lines.push(lineOf(path, manifest.image(index)));
    const { start, end } = manifest.children(index);
    for (let i = start; i < end; i++) visit(joinPath(path, manifest.name(i)), i);
  };
  const index = manifest.find(directory);
  if (index >= 0) visit(directory, index);
  return hashOf(lines);
}

/** Takes the fingerprint of a `.git` as it stands. */
export function printOnDisk(tree: Tree, directory: RelPath, known: KnownFile): GitPrint {
  const lines: string[] = [];
  const visit = (path: RelPath): void => {
    if (isOut(path)) return;
    const { image, entries } = lookAt(tree, path, known);
    if (image.kind === 'absent') return;
    lines.push(lineOf(path, image));
    // What cannot be listed has no entries in a manifest either.
    if (entries !== 'unknown') for (const name of [...entries].sort()) visit(joinPath(path, name));
  };
  visit(directory);
  return hashOf(lines);
}

function isOut(path: RelPath): boolean {
  return isGitObject(path) || isGitIndex(path);
}

function lineOf(path: RelPath, image: Image): string {
  if (image.kind !== 'content') return `${path}\0${image.kind}\n`;
  switch (image.type) {
    case 'file':
      return `${path}\0${image.sha256}\n`;
    case 'symlink':
      return `${path}\0to ${image.target}\n`;
    case 'directory':
    case 'fifo':
      return `${path}\0${image.type}\n`;
  }
}

function hashOf(lines: readonly string[]): GitPrint {
  return crypto.hash('sha256', Buffer.from(lines.join(''), 'latin1'), 'hex');
}
