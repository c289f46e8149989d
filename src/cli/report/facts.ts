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

/** Tells how a turn ran, which rules it broke and what it moved in git, a line each. */
export function headLines({ report, gitFiles }: AuditTurn): string[] {
  const { steps, overlaps, leftOut, git } = report;
  const inGit = gitFiles === 1 ? '1 path' : `${gitFiles} paths`;
  const lines = [
    ...steps.flatMap((step) => [stepLine(step), ...stepNotes(step)]),
    ...(overlaps.length === 0 ? [] : [`at the same time: ${overlaps.join(', ')}`]),
    ...leftOut.map(({ path, reason }) => `not looked into: ${printable(path)}/  ${reason}`),
    ...gitLines(git, true),
    ...(gitFiles === 0 ? [] : [`${inGit} in .git changed`]),
  ];
  // A rule may come from a file in the workspace: nothing may break out of its line.
  return lines.map((line) => printableText(line.trim()));
}

/** Says what the timeline is and how much of it there is. */
export function timelineTitle({ timeline, eventsCut }: AuditTurn): string {
  const { complete, reason, watcher, events } = timeline;
  const whole = complete ? 'complete' : `not complete: ${reason}`;
  const count = events.length + eventsCut;
  return printableText(`Timeline (${watcher}), ${whole}: ${count} events`);
}
