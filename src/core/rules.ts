import picomatch from 'picomatch';
import { matchSelfOrAbove } from './globs.js';
import { nameOf, type RelPath, toText } from './relpath.js';

/** What a step covers: globs relative to the root (picomatch syntax) and a size in bytes. */
export type Rules = {
  /** Globs of paths that are captured although a rule leaves them out. */
  readonly include: readonly string[];
  /** Globs of paths that are left out. */
  readonly exclude: readonly string[];
  /** Files above this many bytes are not captured; 0 for no limit. */
  readonly maxFile: number;
};

/** The largest file that is captured unless told otherwise: 8 MiB. */
export const DEFAULT_MAX_FILE = 8 * 1024 * 1024;

/** What is covered when nobody says anything. */
export const DEFAULT_RULES: Rules = { include: [], exclude: [], maxFile: DEFAULT_MAX_FILE };

/** Names of directories that tools fill and can fill again; left out wherever they stand. */
const LEFT_OUT_NAMES: readonly string[] = ['node_modules', '__pycache__'];

/** A file that marks its directory as a Python virtual environment. */
export const VENV_MARK = 'pyvenv.cfg';

/** A file that marks its directory as a cache, if it begins with {@link CACHEDIR_SIGNATURE}. */
export const CACHEDIR_MARK = 'CACHEDIR.TAG';

/** The first bytes of a valid CACHEDIR.TAG (Cache Directory Tagging Specification). */
export const CACHEDIR_SIGNATURE = 'Signature: 8a477f597d28d172789f06886806bc55';

/** What stands in a directory and decides whether it is left out. */
type DirectoryMarks = { readonly isCache: boolean; readonly isVenv: boolean };

/** A verdict on one path: captured, or left out for a reason. */
export type Verdict =
  | { readonly kind: 'covered' }
  | { readonly kind: 'left-out'; readonly why: string };

/** Rules made ready to be asked many times. */
export type Coverage = {
  readonly rules: Rules;
  /** Whether any glob looks at files by themselves; without one only directories need be judged. */
  readonly judgesFiles: boolean;
  /** Judges a file; `inherited` is why its directory is left out, `''` where it is covered. */
  readonly judgeFile: (path: RelPath, inherited: string) => Verdict;
  /** Judges a directory by its name and the globs. */
  readonly judgeDirectory: (path: RelPath, inherited: string) => Verdict;
  /** Judges a covered directory by the marks in it. */
  readonly judgeMarks: (path: RelPath, marks: DirectoryMarks) => Verdict;
  /** Reports whether something below a directory that is left out may be included by name. */
  readonly mayIncludeBelow: (path: RelPath) => boolean;
};

/** Compiles rules. */
export function compileRules(rules: Rules): Coverage {
  const included = matchSelfOrAbove(rules.include);
  const excluded = matchSelfOrAbove(rules.exclude);
  const bases = rules.include.map((glob) => picomatch.scan(glob).base);
  const leaveOut = (path: RelPath, why: string): Verdict =>
    why === '' || included(path) !== '' ? COVERED : { kind: 'left-out', why };
  const byGlob = (path: RelPath): string => {
    const glob = excluded(path);
    return glob === '' ? '' : `excluded by ${JSON.stringify(glob)}`;
  };
  const byName = (path: RelPath): string => {
    const name = nameOf(path);
    return LEFT_OUT_NAMES.includes(name) ? `a directory named ${name} is left out` : '';
  };
  return {
    rules,
    judgesFiles: rules.exclude.length > 0,
    judgeFile: (path, inherited) => leaveOut(path, inherited || byGlob(path)),
    judgeDirectory: (path, inherited) => leaveOut(path, inherited || byName(path) || byGlob(path)),
    judgeMarks: (path, { isCache, isVenv }) => {
      if (isCache) return leaveOut(path, `a cache directory (${CACHEDIR_MARK}) is left out`);
      return leaveOut(path, isVenv ? `a virtual environment (${VENV_MARK}) is left out` : '');
    },
    mayIncludeBelow: (path) => {
      const below = `${toText(path).text}/`;
      return bases.some((base) => base.startsWith(below));
    },
  };
}

const COVERED: Verdict = { kind: 'covered' };
