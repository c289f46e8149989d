import {
  type Change,
  type LineCounts,
  nameOf,
  type PassingPath,
  parentOf,
  printable,
  printableText,
  type RelPath,
} from '../index.js';
import { tint } from './style.js';
import { changeLine } from './text.js';

/** Counts the lines of a change; `later` where there was no time for it. */
export type CountLines = (change: Change) => LineCounts | 'later';

/** A line a path, with its whole name. */
export function flatLines(changes: readonly Change[], count: CountLines): string[] {
  return changes.map((change) => changeLine(change, { lines: linesOf(count(change)) }));
}

/** A line a path, below a line for each directory that holds some of them. */
export function treeLines(changes: readonly Change[], count: CountLines): string[] {
  const lines: string[] = [];
  const shown = new Set<RelPath>(changes.map(({ path }) => path));
  for (const change of changes) {
    const { path } = change;
    const above: RelPath[] = [];
    for (let at = parentOf(path); at !== '' && !shown.has(at); at = parentOf(at)) above.unshift(at);
    for (const directory of above) {
      shown.add(directory);
      lines.push(`  ${indent(directory)}${tint('faint', `${printable(nameOf(directory))}/`)}`);
    }
    const name = `${indent(path)}${path === '' ? '.' : printable(nameOf(path))}`;
    lines.push(changeLine(change, { name, lines: linesOf(count(change)) }));
  }
  return lines;
}

/** Lines added and removed, right-aligned before each name, as `git diff --numstat` has them. */
export function statLines(changes: readonly Change[], count: CountLines): string[] {
  const rows = changes.map((change) => ({ change, counts: count(change) }));
  const counted = rows.flatMap(({ counts }) => (typeof counts === 'string' ? [] : [counts]));
  const width = Math.max(1, ...widths(counted));
  const sum = { added: 0, removed: 0, bytes: 0 };
  for (const { added, removed } of counted) {
    sum.added += added;
    sum.removed += removed;
  }
  const lines = rows.map(({ change, counts }) => {
    const [added, removed] =
      typeof counts === 'string' ? ['-', '-'] : [counts.added, counts.removed];
    const plus = tint('created', `+${added}`.padStart(width + 1));
    const minus = tint('deleted', `-${removed}`.padStart(width + 1));
    return `${plus} ${minus}  ${printable(change.path)}`;
  });
  const rest = rows.length - counted.length;
  const not = rest === 0 ? '' : `, ${rest} not counted`;
  return [...lines, `${linesOf(sum) || '+0 -0'} lines in ${rows.length} paths${not}`];
}

/** What came out as it was, a line each. */
export function passingLines(passing: readonly PassingPath[]): string[] {
  const lines = passing
    .slice(0, MOST_PASSING)
    .map(({ path, how }) => `  ${printableText(path)}: ${PASSING_WORDS[how]}`);
  const more = passing.length - MOST_PASSING;
  const rest = more > 0 ? [`  and ${more} more; --timeline has all events`] : [];
  return lines.length === 0 ? [] : ['came out as before:', ...lines, ...rest];
}

const PASSING_WORDS = {
  'came-and-went': 'created, deleted',
  'as-before': 'written, the same again',
} as const satisfies Record<PassingPath['how'], string>;

const MOST_PASSING = 20;

function* widths(counts: readonly { readonly added: number; readonly removed: number }[]) {
  for (const { added, removed } of counts) yield Math.max(`${added}`.length, `${removed}`.length);
}

function linesOf(counts: LineCounts | 'later'): string {
  if (typeof counts === 'string') return '';
  const { added, removed } = counts;
  const parts = [
    added === 0 ? '' : tint('created', `+${added}`),
    removed === 0 ? '' : tint('deleted', `-${removed}`),
  ];
  return parts.filter((part) => part !== '').join(' ');
}

function indent(path: RelPath): string {
  return '  '.repeat(path === '' ? 0 : path.split('/').length - 1);
}
