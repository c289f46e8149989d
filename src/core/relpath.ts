/**
 * A path below the workspace's root as a byte string: one UTF-16 unit (0x00 to 0xff) a byte, parts
 * separated by `/`, the root itself `''`.
 *
 * Names are bytes, and most are not worth a Buffer each: a byte string compares, sorts and keys a
 * Map in byte order, and V8 stores it in one byte a character.
 */
export type RelPath = string & { readonly brand: 'RelPath' };

/** A name or a link target as a byte string (see {@link RelPath}), not checked to be a path. */
export type ByteString = string;

/** Reports whether a byte string is a canonical relative path: no empty part, `.`, `..` or NUL. */
export function isRelPath(bytes: ByteString): bytes is RelPath {
  return problemOf(bytes) === '';
}

/** Checks a byte string that must be a path; throws a RangeError, for it is a fault of ours. */
export function relPath(bytes: ByteString): RelPath {
  if (isRelPath(bytes)) return bytes;
  throw new RangeError(`${JSON.stringify(bytes)}: ${problemOf(bytes)}`);
}

/** The workspace's root itself. */
export const ROOT: RelPath = relPath('');

/** Joins a directory and the name of one of its entries. */
export function joinPath(directory: RelPath, name: ByteString): RelPath {
  return relPath(directory === '' ? name : `${directory}/${name}`);
}

/** Names the directory that holds a path; the root is its own parent. */
export function parentOf(path: RelPath): RelPath {
  const slash = path.lastIndexOf('/');
  return relPath(slash < 0 ? '' : path.slice(0, slash));
}

/** Gives a path's last part, `''` for the root. */
export function nameOf(path: RelPath): ByteString {
  return path.slice(path.lastIndexOf('/') + 1);
}

/** Reports whether a path is a directory itself or something below it. */
export function isWithin(path: RelPath, directory: RelPath): boolean {
  return directory === '' || path === directory || path.startsWith(`${directory}/`);
}

/** Reports whether one of a path's parts is `.git`: the repository's own data. */
export function isGitData(path: RelPath): boolean {
  return path === '.git' || path.startsWith('.git/') || /\/\.git(?:\/|$)/.test(path);
}

/** Orders paths as a walk meets them: a directory, then all that is in it, names in byte order. */
export function comparePaths(a: RelPath, b: RelPath): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x === y) continue;
    if (x === SLASH) return -1;
    if (y === SLASH) return 1;
    return x - y;
  }
  return a.length - b.length;
}

/** Turns text into a byte string of its UTF-8 form. */
export function fromText(text: string): ByteString {
  return isAscii(text) ? text : Buffer.from(text, 'utf8').toString('latin1');
}

/** Turns a byte string into text, or says that its bytes are not UTF-8 and gives the lossy form. */
export function toText(bytes: ByteString): { readonly text: string; readonly lossy: boolean } {
  if (isAscii(bytes)) return { text: bytes, lossy: false };
  const raw = Buffer.from(bytes, 'latin1');
  const text = raw.toString('utf8');
  return { text, lossy: !Buffer.from(text, 'utf8').equals(raw) };
}

/** Reports whether all characters are ASCII, so that byte string and text are the same. */
export function isAscii(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 0x7f) return false;
  return true;
}

const SLASH = 0x2f;

function problemOf(bytes: ByteString): string {
  if (bytes === '') return '';
  if (bytes.includes('\0')) return 'it contains a NUL byte';
  if (bytes.startsWith('/')) return 'it is absolute';
  if (/[^\0-\xff]/.test(bytes)) return 'it is not a byte string';
  // One pass over the parts without splitting: this runs for every path of a diff.
  let start = 0;
  for (let i = 0; i <= bytes.length; i++) {
    if (i < bytes.length && bytes.charCodeAt(i) !== SLASH) continue;
    const length = i - start;
    if (length === 0) return 'it has an empty part';
    if (length === 1 && bytes.charCodeAt(start) === DOT) return 'it has a part "."';
    if (length === 2 && bytes.charCodeAt(start) === DOT && bytes.charCodeAt(start + 1) === DOT) {
      return 'it has a part ".."';
    }
    start = i + 1;
  }
  return '';
}

const DOT = 0x2e;
