import crypto from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import { basename, dirname, isAbsolute, join, resolve } from 'node:path';
import { printable } from '../core/printable.js';
import { errnoWords, isErrno, PreimageError } from '../core/problem.js';
import { type ByteString, fromText, isRelPath, type RelPath, toText } from '../core/relpath.js';
import { toNative } from '../files/native-path.js';
import { openStoreAt, type StoreLayout } from '../store/layout.js';
import { storeHome } from './store-home.js';

/** Which workspace is meant, as a caller says it. */
export type WhichWorkspace = {
  /** The root; else the nearest parent of `cwd` that has a store, else `cwd`. */
  readonly root?: string;
  /** The store's directory; else the environment's PREIMAGE_STORE, else the default place. */
  readonly store?: string;
  /** Where relative paths start and the search for a root begins; the process's own if left out. */
  readonly cwd?: string;
  /** Takes `/` or the home directory as a root. */
  readonly allowHome?: boolean;
};

/** A workspace that was found, with or without a store. */
export type Located = {
  /** Absolute real path as a byte string. */
  readonly root: ByteString;
  readonly storeDirectory: string;
  readonly existing: StoreLayout | 'none';
  /** Absolute real path from which relative paths are meant. */
  readonly cwd: ByteString;
};

/**
 * Finds the workspace and its store. Throws `usage` where the root is no directory or does not fit the
 * store, `refused-root` for `/` and the home directory.
 */
export function locate(which: WhichWorkspace): Located {
  const cwd = workingDirectory(which);
  const given = which.store ?? process.env.PREIMAGE_STORE ?? '';
  const found =
    given === ''
      ? locateDefault(which, cwd)
      : locateGiven(resolve(toText(cwd).text, given), which, cwd);
  if (which.allowHome !== true) refuseWideRoot(found.root);
  return found;
}

/**
 * Turns a path that a user typed into one below the root; throws `usage` for one outside.
 *
 * Links in it are not followed, so a link can be named as itself; the working directory is real.
 */
export function toRelPath({ root, cwd }: Located, typed: string): RelPath {
  const bytes = fromText(typed);
  const absolute = absolutePath(cwd, typed);
  const within = relativeTo(root, absolute) ?? relativeTo(root, realParent(absolute));
  if (within !== undefined && isRelPath(within)) return within;
  throw new PreimageError(
    'usage',
    `${printable(bytes)} is outside the workspace ${printable(root)}.`,
    {
      hint: 'Name paths below the root, or another workspace with --root.',
    },
  );
}

/** Names the default store of a root: readable, and its own by the hash of the real path. */
function defaultStore(root: ByteString): string {
  const name = basename(toText(root).text).replace(/[^A-Za-z0-9._-]/g, '_') || 'root';
  const hash = crypto.hash('sha256', Buffer.from(root, 'latin1'), 'hex').slice(0, 12);
  return join(storeHome(), `${name.slice(0, 64)}-${hash}`);
}

/**
 * Lists where the store of a workspace may be, with its root as far as that is known without asking
 * the store: for when the store cannot say it.
 */
export function candidateStores(
  which: WhichWorkspace,
): { readonly directory: string; readonly root: ByteString | 'unknown' }[] {
  const cwd = workingDirectory(which);
  const asked =
    which.root === undefined ? undefined : rootPath(resolve(toText(cwd).text, which.root));
  const given = which.store ?? process.env.PREIMAGE_STORE ?? '';
  if (given !== '') {
    return [{ directory: resolve(toText(cwd).text, given), root: asked ?? 'unknown' }];
  }
  if (asked !== undefined) return [{ directory: defaultStore(asked), root: asked }];
  const candidates: { directory: string; root: ByteString }[] = [];
  for (let at = cwd; ; at = parentDirectory(at)) {
    candidates.push({ directory: defaultStore(at), root: at });
    if (parentDirectory(at) === at) return candidates;
  }
}

function locateDefault(which: WhichWorkspace, cwd: ByteString): Located {
  if (which.root !== undefined) {
    const root = rootPath(resolve(toText(cwd).text, which.root));
    const storeDirectory = defaultStore(root);
    return { root, storeDirectory, existing: openStoreAt(storeDirectory), cwd };
  }
  for (let at = cwd; ; at = parentDirectory(at)) {
    const storeDirectory = defaultStore(at);
    const existing = openStoreAt(storeDirectory);
    if (existing !== 'none' && existing.root === at) {
      return { root: at, storeDirectory, existing, cwd };
    }
    if (parentDirectory(at) === at) break;
  }
  return { root: cwd, storeDirectory: defaultStore(cwd), existing: 'none', cwd };
}

/** A store records its root: it serves that root, from anywhere below it, and nothing else. */
function locateGiven(storeDirectory: string, which: WhichWorkspace, cwd: ByteString): Located {
  const existing = openStoreAt(storeDirectory);
  const asked =
    which.root === undefined ? undefined : rootPath(resolve(toText(cwd).text, which.root));
  if (existing === 'none') return { root: asked ?? cwd, storeDirectory, existing, cwd };
  const { root } = existing;
  const fits = asked === undefined ? relativeTo(root, cwd) !== undefined : asked === root;
  if (fits) return { root, storeDirectory, existing, cwd };
  const where = printable(asked ?? cwd);
  throw new PreimageError(
    'usage',
    `The store ${storeDirectory} belongs to ${printable(root)}, not to ${where}.`,
    { hint: 'Leave --store (and PREIMAGE_STORE) out, or go to that workspace.' },
  );
}

/** Resolves `.` and `..` by their names, as a shell does. */
function absolutePath(cwd: ByteString, typed: string): ByteString {
  if (process.platform === 'win32') {
    return fromText(resolve(toText(cwd).text, typed).replaceAll('\\', '/'));
  }
  // Not `path.resolve`: the working directory may have a name that is not UTF-8.
  const bytes = fromText(typed);
  const parts: ByteString[] = [];
  for (const part of (bytes.startsWith('/') ? bytes : `${cwd}/${bytes}`).split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '' && part !== '.') parts.push(part);
  }
  return `/${parts.join('/')}`;
}

function relativeTo(root: ByteString, path: ByteString): ByteString | undefined {
  if (path === root) return '';
  const prefix = root.endsWith('/') ? root : `${root}/`;
  return path.startsWith(prefix) ? path.slice(prefix.length) : undefined;
}

function refuseWideRoot(root: ByteString): void {
  const isTop = parentDirectory(root) === root;
  let home: ByteString;
  try {
    home = realPath(os.homedir(), 'home directory');
  } catch {
    home = '';
  }
  if (!isTop && root !== home) return;
  const what = isTop ? 'the top of the file system' : 'your home directory';
  throw new PreimageError(
    'refused-root',
    `${printable(root)} is ${what}: it is not taken as a workspace.`,
    {
      hint: 'Go to a project directory, give --root DIR, or insist with --allow-home.',
    },
  );
}

/** Resolves a root; one that is gone is still found by its parent, so that it can be put back. */
function rootPath(path: string): ByteString {
  try {
    const root = realPath(path, 'workspace');
    if (fs.statSync(toNative(root)).isDirectory()) return root;
  } catch (error) {
    const gone = goneRoot(path);
    if (gone !== 'unknown') return gone;
    throw error;
  }
  throw new PreimageError('usage', `${printable(fromText(path))} is no directory.`, {
    hint: 'A workspace is a directory: give the one that holds the file.',
  });
}

function goneRoot(path: string): ByteString | 'unknown' {
  if (!fs.existsSync(dirname(path))) return 'unknown';
  const parent = realPath(dirname(path), 'directory of the workspace');
  const gone = `${parent === '/' ? '' : parent}/${fromText(basename(path))}`;
  return openStoreAt(defaultStore(gone)) === 'none' ? 'unknown' : gone;
}

function realPath(path: string, what: string): ByteString {
  try {
    return fs.realpathSync
      .native(path, 'buffer')
      .toString('latin1')
      .replaceAll('\\', process.platform === 'win32' ? '/' : '\\');
  } catch (error) {
    const shown = printable(fromText(path));
    throw new PreimageError('usage', `Cannot use ${shown} as the ${what}: ${errnoWords(error)}.`, {
      hint: isErrno(error, 'ENOENT') ? 'Check the spelling; it must exist.' : '',
      cause: error,
    });
  }
}

/** Resolves links in the directory of a path, and not the path's own last part. */
function realParent(path: ByteString): ByteString {
  try {
    const slash = path.lastIndexOf('/');
    const parent = fs.realpathSync.native(toNative(path.slice(0, slash) || '/'), 'buffer');
    return `${parent.toString('latin1').replace(/\/$/, '')}${path.slice(slash)}`;
  } catch {
    return path;
  }
}

function parentDirectory(path: ByteString): ByteString {
  const slash = path.lastIndexOf('/');
  if (slash < 0) return path;
  return path.slice(0, slash) || '/';
}

/** A working directory that is gone is no trouble where the root is given: it may be what is to come back. */
function workingDirectory({ cwd, root }: WhichWorkspace): ByteString {
  try {
    return realPath(cwd ?? process.cwd(), 'current directory');
  } catch (error) {
    if (root !== undefined && isAbsolute(root)) return rootPath(root);
    throw new PreimageError('usage', 'The current directory is gone.', {
      hint: 'Go to a directory that exists, or give the workspace with --root DIR.',
      cause: error,
    });
  }
}
