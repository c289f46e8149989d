import { posix, sep } from 'node:path';
import type { WatchOptions } from './watcher.js';

/** Where a path lies that a backend named. */
export type Location =
  | { readonly kind: 'root' }
  | { readonly kind: 'inside'; readonly path: string }
  /** In an ignored directory, excluded, in the cookie directory or outside of the root. */
  | { readonly kind: 'unreported' };

/**
 * Makes the function that turns a backend's absolute paths into paths relative to the root.
 *
 * The ignored directories are looked at here again, whatever the backend was told: it may be handed
 * events of a moment before, and not every path can be told to it literally.
 */
export function makeLocator(
  options: Pick<WatchOptions, 'root' | 'cookieDir' | 'ignoreDirs' | 'isExcluded'>,
): (absolute: string) => Location {
  const root = slashed(options.root);
  const inRoot = asPrefix(root);
  const ignored = [...options.ignoreDirs, options.cookieDir].map(slashed);
  const below = ignored.map(asPrefix);
  return (absolute) => {
    const place = slashed(absolute);
    if (place === root) return ROOT;
    if (!place.startsWith(inRoot)) return UNREPORTED;
    if (ignored.includes(place)) return UNREPORTED;
    if (below.some((prefix) => place.startsWith(prefix))) return UNREPORTED;
    const path = place.slice(inRoot.length);
    return options.isExcluded(path) ? UNREPORTED : { kind: 'inside', path };
  };
}

/** Gives the name of the file if it lies directly in the cookie directory, else nothing. */
export function cookieName(cookieDir: string, absolute: string): string | undefined {
  const place = slashed(absolute);
  return posix.dirname(place) === slashed(cookieDir) ? posix.basename(place) : undefined;
}

/** Puts an absolute path in the form that the system uses, with `/`; a Unix name keeps its `\`. */
export function slashed(path: string): string {
  return sep === '/' ? path : path.replaceAll(sep, '/');
}

function asPrefix(dir: string): string {
  return dir.endsWith('/') ? dir : `${dir}/`;
}

const ROOT: Location = { kind: 'root' };
const UNREPORTED: Location = { kind: 'unreported' };
