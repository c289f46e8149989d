import { type Change, isNoChange } from '../change.js';
import type { Image } from '../image.js';
import {
  type ByteString,
  comparePaths,
  isGitData,
  isWithin,
  joinPath,
  type RelPath,
} from '../relpath.js';
import {
  type GitMove,
  headLog,
  headMoves,
  indexMoves,
  type Made,
  operationMoves,
  type Sides,
  stashMoves,
} from './moves.js';
import { gitDirectoryOf, isWorkOf } from './paths.js';
import { classifyRef } from './refs.js';
import { GitSide, type GitView } from './side.js';

/** What a turn moved in one repository. */
export type GitReport = {
  /** Its own directory: `.git`, or that of a submodule or of a linked work tree in it. */
  readonly path: RelPath;
  readonly state: 'kept' | 'created' | 'deleted';
  /** How many paths in it changed. */
  readonly paths: number;
  readonly moves: readonly GitMove[];
  /** Messages that were added to the log of HEAD, oldest first. */
  readonly log: readonly ByteString[];
};

/**
 * Tells what changes mean to git: from the images of what lies in `.git`, and without git.
 *
 * What cannot be read is left out and not guessed.
 */
export function reportGit(view: GitView): GitReport[] {
  return [...changesByDirectory(view)]
    .sort(([a], [b]) => comparePaths(a, b))
    .map(([path, changes]) => reportOn(path, changes, view));
}

/** Asks a view for all that {@link reportGit} needs of what did not change. */
export function askBeside(view: GitView): void {
  for (const [path, changes] of changesByDirectory(view)) {
    const sides = sidesOf(path, view);
    for (const side of [sides.before, sides.after]) side.head();
    refMoves(sides, new Map(changes.map((change) => [change.path, change])));
  }
}

function sidesOf(path: RelPath, view: GitView): Sides {
  return { before: new GitSide(path, view, 'before'), after: new GitSide(path, view, 'after') };
}

function changesByDirectory(view: GitView): Map<RelPath, Change[]> {
  const byDirectory = new Map<RelPath, Change[]>();
  for (const change of view.changes.values()) {
    if (isNoChange(change)) continue;
    const directory = gitDirectoryIn(change.path, view);
    if (directory === 'none') continue;
    const list = byDirectory.get(directory) ?? [];
    list.push(change);
    byDirectory.set(directory, list);
  }
  return byDirectory;
}

function reportOn(path: RelPath, changes: readonly Change[], view: GitView): GitReport {
  const sides = sidesOf(path, view);
  const changed = new Map(changes.map((change) => [change.path, change]));
  const has = (name: ByteString): boolean => changed.has(joinPath(path, name));
  const log = has('logs/HEAD') ? headLog(sides) : [];
  const stashes = has('logs/refs/stash') ? stashMoves(sides, workChanged(path, view)) : [];
  const pushed = stashes.filter((move) => move.kind === 'stash' && move.change === 'pushed');
  const moves = [
    ...headMoves(sides, log, pushed.length),
    ...refMoves(sides, changed),
    ...stashes,
    ...(has('index') ? indexMoves(sides) : []),
    ...operationMoves(sides),
    ...settingMoves(path, changed),
  ];
  const state = stateOf(view.changes.get(path));
  return { path, state, paths: changes.length, moves, log: log.map(({ message }) => message) };
}

/** The `.git` that a path lies in, or a submodule's or a linked work tree's directory below it. */
function gitDirectoryIn(path: RelPath, view: GitView): RelPath | 'none' {
  let directory = gitDirectoryOf(path);
  if (directory === 'none') return 'none';
  if (path === directory && ![view.changes.get(path)].some(isOfDirectory)) return 'none';
  for (;;) {
    const below = linkedDirectory(path, directory, view);
    if (below === 'none') return directory;
    directory = below;
  }
}

/** The names of submodules may have slashes: the directory is the first that has a HEAD. */
function linkedDirectory(path: RelPath, directory: RelPath, view: GitView): RelPath | 'none' {
  const parts = path.slice(directory.length + 1).split('/');
  if (!isWithin(path, directory) || !LINKED.has(parts[0] ?? '')) return 'none';
  for (let i = 2; i <= parts.length; i++) {
    const at = joinPath(directory, parts.slice(0, i).join('/'));
    const head = joinPath(at, 'HEAD');
    const change = view.changes.get(head);
    const images = change === undefined ? [view.unchanged(head)] : [change.before, change.after];
    if (images.some((image) => image !== 'unknown' && isFile(image))) return at;
  }
  return 'none';
}

const LINKED: ReadonlySet<string> = new Set(['modules', 'worktrees']);

/** Says which refs name another object; where one is kept (in a file, packed) does not count. */
function refMoves({ before, after }: Sides, changed: ReadonlyMap<RelPath, Change>): GitMove[] {
  const names = new Set<ByteString>();
  let tables = false;
  for (const path of changed.keys()) {
    const name = path.slice(before.path.length + 1);
    if (name.startsWith('refs/')) names.add(name);
    if (name.startsWith('reftable/')) tables = true;
  }
  const [then, now] = [before.packedRefs(), after.packedRefs()];
  if (then !== 'unknown' && now !== 'unknown') {
    for (const [name, id] of then) if (now.get(name) !== id) names.add(name);
    for (const [name, id] of now) if (then.get(name) !== id) names.add(name);
  }
  const moves = [...names].sort().flatMap((ref): GitMove[] => {
    const [from, to] = [before.ref(ref), after.ref(ref)];
    // The stash has a log that tells more.
    if (from === to || ref === 'refs/stash') return [];
    const change = from === 'none' ? 'created' : to === 'none' ? 'deleted' : 'moved';
    return [{ ...classifyRef(ref), change, from, to }];
  });
  return tables ? [...moves, { kind: 'unread-refs' }] : moves;
}

/** Settings and hooks make git run programs: they are never folded away. */
function settingMoves(path: RelPath, changed: ReadonlyMap<RelPath, Change>): GitMove[] {
  const moves: GitMove[] = [];
  for (const change of changed.values()) {
    const name = change.path.slice(path.length + 1);
    const made = madeOf(change);
    if (/^config(?:\.worktree)?$/.test(name)) moves.push({ kind: 'config', change: made });
    const hook = /^hooks\/([^/]+)$/.exec(name)?.[1];
    if (hook !== undefined && !hook.endsWith('.sample')) {
      moves.push({ kind: 'hook', name: hook, change: made });
    }
  }
  return moves;
}

function madeOf({ before, after }: Change): Made {
  if (!isFile(before)) return 'created';
  return isFile(after) ? 'changed' : 'deleted';
}

function stateOf(change: Change | undefined): GitReport['state'] {
  if (change === undefined || isDirectory(change.before) === isDirectory(change.after)) {
    return 'kept';
  }
  return isDirectory(change.after) ? 'created' : 'deleted';
}

/** Whether the turn changed files outside of `.git`; those of a submodule may lie anywhere. */
function workChanged(path: RelPath, view: GitView): boolean {
  const main = gitDirectoryOf(path);
  return [...view.changes.values()].some(
    (change) =>
      !isNoChange(change) &&
      (main === path ? isWorkOf(change.path, path) : !isGitData(change.path)),
  );
}

function isOfDirectory(change: Change | undefined): boolean {
  return change !== undefined && (isDirectory(change.before) || isDirectory(change.after));
}

function isDirectory(image: Image): boolean {
  return image.kind === 'content' && image.type === 'directory';
}

function isFile(image: Image): boolean {
  return image.kind === 'content' && image.type === 'file';
}
