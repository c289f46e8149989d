import type { Change } from '../core/change.js';
import { gitDirectoryOf } from '../core/git/paths.js';
import { askBeside } from '../core/git/report.js';
import type { Step } from '../core/history.js';
import type { Image } from '../core/image.js';
import type { Manifest } from '../core/manifest.js';
import { isDirectory } from '../core/planned.js';
import { isWithin, type RelPath } from '../core/relpath.js';
import type { RepositoryNote } from '../core/repository-note.js';
import type { Packs } from '../store/packs.js';
import { type GitPrint, printInManifest } from './git-print.js';
import { storedBytes } from './stored-bytes.js';

/** Lists each `.git` in which something changed; a `.git` that is a file is none. */
export function gitDirectoriesIn(changes: Iterable<Change>): RelPath[] {
  const found = new Set<RelPath>();
  for (const { path, before, after } of changes) {
    const directory = gitDirectoryOf(path);
    if (directory === 'none') continue;
    if (path !== directory || isDirectory(before) || isDirectory(after)) found.add(directory);
  }
  return [...found];
}

/**
 * Notes, while both manifests are at hand, what will be needed to tell what a step moved in each
 * repository, and by which fingerprint it can be known later that nobody used it since.
 */
export function noteRepositories(
  changes: readonly Change[],
  from: { readonly opened: Manifest; readonly closed: Manifest; readonly packs: Packs },
): RepositoryNote[] {
  const directories = gitDirectoriesIn(changes);
  if (directories.length === 0) return [];
  const beside = new Map<RelPath, Image>();
  askBeside({
    changes: new Map(changes.map((change) => [change.path, change])),
    unchanged: (path) => {
      const image = from.closed.imageAt(path);
      if (image.kind !== 'skipped') beside.set(path, image);
      return image;
    },
    bytes: (image) => storedBytes(from.packs, image),
  });
  return directories.map((path) => ({
    path,
    opened: printInManifest(from.opened, path),
    closed: printInManifest(from.closed, path),
    beside: [...beside].flatMap(([at, image]) => (isWithin(at, path) ? [{ path: at, image }] : [])),
  }));
}

/** Gives what a closed step noted of repositories. */
export function notesOf({ end }: Step): readonly RepositoryNote[] {
  return end.kind === 'closed' ? end.record.repositories : [];
}

/**
 * Reports whether a `.git` stands as the last of some steps left it, and each of them found it as the
 * one before it had left it: then nobody else can have come to need an object that they made.
 */
export function isUntouched(
  directory: RelPath,
  now: GitPrint,
  steps: {
    readonly since: readonly Step[];
    readonly changesOf: (step: Step) => readonly Change[];
  },
): boolean {
  let left: GitPrint | 'unknown' = 'unknown';
  for (const step of steps.since) {
    const note = notesOf(step).find(({ path }) => path === directory);
    if (note === undefined) {
      if (gitDirectoriesIn(steps.changesOf(step)).includes(directory)) return false;
      continue;
    }
    if (left !== 'unknown' && note.opened !== left) return false;
    left = note.closed;
  }
  return left === now;
}
