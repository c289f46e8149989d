import type { Change } from './change.js';
import { matchSelfOrAbove } from './globs.js';
import { isWithin, type RelPath } from './relpath.js';

/**
 * What a run may change: globs (picomatch syntax) of paths or of directories above them, relative to
 * the root. A glob of `deny` without a slash denies the name wherever it stands.
 */
export type RunRules = {
  /** Nothing else may be changed; all may where it is empty. */
  readonly allow: readonly string[];
  /** None of these may be changed, allowed or not. */
  readonly deny: readonly string[];
};

/** A run that may change everything. */
export const NO_RUN_RULES: RunRules = { allow: [], deny: [] };

/** A path that was changed against a rule, and the rule in words. */
export type Breach = { readonly path: RelPath; readonly rule: string };

/** Reports whether there is anything to hold to. */
function isBound({ allow, deny }: RunRules): boolean {
  return allow.length > 0 || deny.length > 0;
}

/** Makes a function that says in words which rule forbids a change of a path, `''` where none does. */
export function compileRunRules({ allow, deny }: RunRules): (path: RelPath) => string {
  const allowed = matchSelfOrAbove(allow);
  const denied = matchSelfOrAbove(deny.map((glob) => (glob.includes('/') ? glob : `**/${glob}`)));
  return (path) => {
    const glob = denied(path);
    if (glob !== '') return `denied by ${JSON.stringify(glob.replace(/^\*\*\//, ''))}`;
    return allow.length === 0 || allowed(path) !== '' ? '' : 'not allowed';
  };
}

/**
 * Finds the changes that break a rule. A directory that had to be made for something allowed to stand
 * in it is allowed too.
 */
export function findBreaches(changes: readonly Change[], rules: RunRules): Breach[] {
  if (!isBound(rules)) return [];
  const judge = compileRunRules(rules);
  const judged = changes.map((change) => ({ change, rule: judge(change.path) }));
  const made = judged.filter(({ change, rule }) => rule === '' && isMade(change));
  return judged.flatMap(({ change, rule }) => {
    if (rule === '') return [];
    const needed =
      rule === 'not allowed' &&
      isMade(change) &&
      made.some(({ change: { path } }) => isWithin(path, change.path));
    return needed ? [] : [{ path: change.path, rule }];
  });
}

function isMade({ before, after }: Change): boolean {
  return before.kind === 'absent' && after.kind === 'content';
}
