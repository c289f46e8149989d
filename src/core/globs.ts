import picomatch from 'picomatch';
import { type RelPath, toText } from './relpath.js';

/** Makes a function that gives the first glob that matches a path or a directory above it, or ''. */
export function matchSelfOrAbove(globs: readonly string[]): (path: RelPath) => string {
  if (globs.length === 0) return () => '';
  const matchers = globs.map((glob) => ({
    glob,
    match: picomatch(trimSlash(glob), { dot: true }),
  }));
  return (path) => {
    let text = toText(path).text;
    while (text !== '') {
      for (const { glob, match } of matchers) if (match(text)) return glob;
      const slash = text.lastIndexOf('/');
      text = slash < 0 ? '' : text.slice(0, slash);
    }
    return '';
  };
}

function trimSlash(glob: string): string {
  return glob.length > 1 ? glob.replace(/^\.\//, '').replace(/\/+$/, '') : glob;
}
