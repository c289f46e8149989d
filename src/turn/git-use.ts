import type { Change } from '../core/change.js';
import { gitDirectoryOf, isGitIndex, isGitObject } from '../core/git/paths.js';
import type { Step } from '../core/history.js';
import { type Image, sameImage } from '../core/image.js';
import type { Manifest } from '../core/manifest.js';
import type { DiskState } from '../core/plan-request.js';
import { joinPath, type RelPath } from '../core/relpath.js';
import type { RepositoryNote } from '../core/repository-note.js';
import type { SquashedChange } from '../core/squash.js';
import { type KnownFile, lookAt } from '../files/look.js';
import type { Tree } from '../files/tree.js';
import { gitDirectoriesIn, isUntouched } from './git-notes.js';
import { type GitPrint, printOnDisk } from './git-print.js';

/** What is known of each `.git` that a rewind would put back. */
export type GitUse = {
  /** Those that somebody may have used since: their objects stay, or all of one that was made. */
  readonly inUse: ReadonlyMap<RelPath, 'objects' | 'all'>;
  /** How each of them stands now. */
  readonly prints: ReadonlyMap<RelPath, GitPrint>;
};

/** Nothing of any `.git` is put back. */
export const NO_GIT_USE: GitUse = { inUse: new Map(), prints: new Map() };

/**
 * Finds out where somebody may need an object that the undone steps made: a commit of the user on top
 * of a commit of the turn, something staged. It is needed by nobody only if the repository is proven
 * to stand as those steps, and they alone, left it.
 */
export function findGitUse(
  changes: readonly SquashedChange[],
  seen: {
    /** All steps from the first undone one on. */
    readonly since: readonly Step[];
    readonly changesOf: (step: Step) => readonly Change[];
    readonly disk: ReadonlyMap<RelPath, DiskState>;
    readonly seenAs: ReadonlyMap<RelPath, Image>;
    readonly tree: Tree;
    readonly known: KnownFile;
    readonly baseline: () => Manifest | 'none';
  },
): GitUse {
  const inUse = new Map<RelPath, 'objects' | 'all'>();
  const prints = new Map<RelPath, GitPrint>();
  for (const directory of gitDirectoriesIn(changes)) {
    const print = printOnDisk(seen.tree, directory, seen.known);
    prints.set(directory, print);
    const within = changes.filter(({ path }) => gitDirectoryOf(path) === directory);
    if (!within.some(({ path, before }) => before.kind === 'absent' && isGitObject(path))) continue;
    if (!isUntouched(directory, print, seen) || isStaged(directory, within)) {
      const head = joinPath(directory, 'HEAD');
      const isMade = within.some(({ path, before }) => path === head && before.kind === 'absent');
      inUse.set(directory, isMade ? 'all' : 'objects');
    }
  }
  return { inUse, prints };

  /** Whether an index says something else than when the steps were done. */
  function isStaged(directory: RelPath, within: readonly SquashedChange[]): boolean {
    const indexes = within.filter(({ path }) => isGitIndex(path));
    const edited = indexes.some(({ path, after, foreign }) => {
      const now = seen.seenAs.get(path) ?? seen.disk.get(path)?.image;
      return now === undefined || foreign.length > 0 || !sameImage(now, after);
    });
    const own = joinPath(directory, 'index');
    if (edited || indexes.some(({ path }) => path === own)) return edited;
    const baseline = seen.baseline();
    if (baseline === 'none') return true;
    return !sameImage(lookAt(seen.tree, own, seen.known).image, baseline.imageAt(own));
  }
}

/** Notes how each `.git` stood before a rewind and stands after it, for whoever undoes that. */
export function noteGitUse({ prints }: GitUse, tree: Tree, known: KnownFile): RepositoryNote[] {
  if (prints.size === 0) return [];
  tree.reset();
  return [...prints].map(([path, opened]) => {
    return { path, opened, closed: printOnDisk(tree, path, known), beside: [] };
  });
}
