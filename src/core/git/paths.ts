import { isGitData, isWithin, nameOf, parentOf, type RelPath, relPath } from '../relpath.js';

/** Gives the `.git` that a path is or lies in, the topmost one; `none` where there is none. */
export function gitDirectoryOf(path: RelPath): RelPath | 'none' {
  if (!isGitData(path)) return 'none';
  const end = `/${path}/`.indexOf('/.git/') + '.git'.length;
  return relPath(path.slice(0, end));
}

/**
 * Reports whether a path in a `.git` holds objects or is a directory of them: what is named by its own
 * content, never changes, and does no harm where nobody needs it.
 */
export function isGitObject(path: RelPath): boolean {
  return isGitData(path) && OBJECTS.test(path);
}

/** Reports whether a path is the index of a repository, a linked work tree or a submodule. */
export function isGitIndex(path: RelPath): boolean {
  if (nameOf(path) !== 'index') return false;
  const directory = parentOf(path);
  return nameOf(directory) === '.git' || LINKED.test(directory);
}

/** Reports whether a path lies in the work tree of a `.git`, and is no git data itself. */
export function isWorkOf(path: RelPath, gitDirectory: RelPath): boolean {
  return isWithin(path, parentOf(gitDirectory)) && !isGitData(path);
}

const OBJECTS = /(?:^|\/)\.git\/(?:modules\/.+\/)?objects\/(?:[0-9a-f]{2}|pack|info)(?:\/|$)/;
const LINKED = /(?:^|\/)\.git\/(?:modules|worktrees)\/(?!.*\/(?:refs|logs)(?:\/|$))/;
