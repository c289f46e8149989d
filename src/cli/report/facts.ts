import {
  type Audit,
  type AuditDiff,
  type AuditFile,
  type AuditTurn,
  printable,
  printableText,
} from '../../index.js';
import { gitLines } from '../git-text.js';
import { isDirectoryChange, stepLine, stepNotes } from '../text.js';

/** Lines added and removed, as far as they were counted. */
export type LineSum = {
  readonly added: number;
  readonly removed: number;
  /** Files whose lines were not counted. */
  readonly uncounted: number;
};

/** Names a changed path for people; a directory ends with a slash. */
export function fileName({ change }: AuditFile): string {
  return printable(change.path) + (isDirectoryChange(change) ? '/' : '');
}

/** Names the workspace by its directory: where that lies is nobody's business. */
export function workspaceName({ root }: Audit): string {
  return printable(root.slice(root.lastIndexOf('/') + 1));
}

/** Sums up the lines of a turn. */
export function sumLines({ files }: AuditTurn): LineSum {
  let [added, removed, uncounted] = [0, 0, 0];
  for (const { diff } of files) {
    added += diff.added;
    removed += diff.removed;
    if (diff.left !== 'nothing' && diff.left !== 'secret') uncounted += 1;
  }
  return { added, removed, uncounted };
}

/** Says a sum of lines: `+12 −3 lines`. */
export function linesText({ added, removed, uncounted }: LineSum): string {
  const not = uncounted === 0 ? '' : ` (${uncounted} not counted)`;
  return `+${added} −${removed} lines${not}`;
}

/** Says why a diff does not show all; `''` where it does. */
export function leftText({ left, cut }: AuditDiff): string {
  switch (left) {
    case 'nothing':
      return cut === 0 ? '' : `${cut} more lines are not shown`;
    case 'binary':
      return 'binary: its contents are not shown';
    case 'too-large':
      return 'too large: its contents are not shown';
    case 'not-captured':
      return 'not captured: its contents cannot be shown';
    case 'secret':
      return 'its name looks like that of a secret: its contents are held back (--secrets shows them)';
    case 'full':
      return 'the report is full: its contents are not shown';
  }
}

/** Tells how a turn ran and what it moved in git, a line each. */
export function headLines({ report, gitFiles }: AuditTurn): string[] {
  const { steps, overlaps, leftOut, git } = report;
  return [
    ...steps.flatMap((step) => [stepLine(step), ...stepNotes(step)]),
    ...(overlaps.length === 0 ? [] : [`at the same time: ${overlaps.join(', ')}`]),
    ...leftOut.map(
      ({ path, reason }) => `not looked into: ${printable(path)}/  ${printableText(reason)}`,
    ),
    ...gitLines(git, true).map((line) => line.trim()),
    ...(gitFiles === 0
      ? []
      : [`${gitFiles === 1 ? '1 path' : `${gitFiles} paths`} in .git changed`]),
  ];
}
