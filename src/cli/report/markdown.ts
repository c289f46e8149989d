import {
  type Audit,
  type AuditFile,
  type AuditTurn,
  changeKind,
  countChanges,
  printableText,
} from '../../index.js';
import { changeNote, countsText, foreignLine, localTime, MARKS, timeOfDay } from '../text.js';
import { fenceFor, markdownCode, markdownText, visibleLine } from './escape.js';
import {
  fileName,
  headLines,
  leftText,
  linesText,
  sumLines,
  timelineTitle,
  workspaceName,
} from './facts.js';

/** More paths of a turn, or events, are not worth a line each in a pull request. */
const MOST_ROWS = 200;
const MOST_EVENTS = 50;

/** Writes a report as Markdown that a pull request can hold, piece by piece. */
export function* markdownReport(audit: Audit): Iterable<string> {
  const count = audit.turns.length === 1 ? '1 turn' : `${audit.turns.length} turns`;
  const since = audit.since === '' ? '' : ` since ${localTime(audit.since)}`;
  yield `## What ${count} touched in ${markdownCode(workspaceName(audit))}\n\n`;
  yield `Made by preimage, ${localTime(audit.madeAt)}${since}.\n`;
  for (const turn of audit.turns) yield* turnSection(turn);
}

function* turnSection(turn: AuditTurn): Iterable<string> {
  const { report, files } = turn;
  const label = report.label === '' ? '' : `: ${markdownText(printableText(report.label))}`;
  const state = report.partial ? `${report.status}, partial` : report.status;
  yield `\n### ${markdownCode(report.turn)}${label}\n\n`;
  yield `${localTime(report.at)}, ${state}: ${countsText(countChanges(report.files))}; ${linesText(sumLines(turn))}\n\n`;
  for (const line of headLines(turn)) yield `- ${markdownCode(line)}\n`;
  if (files.length > 0) yield '\n|  | path | lines | what |\n| --- | --- | --- | --- |\n';
  for (const file of files.slice(0, MOST_ROWS)) yield tableRow(file);
  if (files.length > MOST_ROWS) yield `\n${files.length - MOST_ROWS} more paths are not listed.\n`;
  for (const file of files) if (file.diff.lines.length > 0) yield diffEntry(file);
  const unshown = files.filter(({ diff }) => diff.left === 'full').length;
  if (unshown > 0)
    yield `\nThe diffs of ${unshown} more files are not shown: the report is full.\n`;
  yield timelineEntry(turn);
}

function tableRow(file: AuditFile): string {
  const { change, secret, diff } = file;
  const counts = diff.added + diff.removed > 0 ? `+${diff.added} −${diff.removed}` : '';
  const left = diff.left === 'full' ? '' : leftText(diff);
  const notes = [secret ? 'secret?' : '', changeNote(change), left, ...foreignLine(change)];
  const what = notes
    .filter((note) => note !== '')
    .map(markdownText)
    .join('; ');
  return `| ${MARKS[changeKind(change)][0]} | ${markdownCode(fileName(file), true)} | ${counts} | ${what} |\n`;
}

function diffEntry(file: AuditFile): string {
  const lines = file.diff.lines.map(visibleLine);
  const fence = fenceFor(lines);
  const left = leftText(file.diff);
  const said = left === '' ? '' : `\n${left}\n`;
  // In a summary only HTML counts: everything is escaped.
  const name = `<code>${markdownText(fileName(file))}</code>`;
  return `\n<details><summary>${name}</summary>\n\n${fence}diff\n${lines.join('\n')}\n${fence}\n${said}\n</details>\n`;
}

function timelineEntry(turn: AuditTurn): string {
  const { eventsCut } = turn;
  const { events } = turn.timeline;
  const title = timelineTitle(turn);
  if (events.length === 0) return `\n${markdownText(title)}\n`;
  const rows = events
    .slice(0, MOST_EVENTS)
    .map(
      ({ at, kind, path }) =>
        `${timeOfDay(at)}  ${kind.padEnd(6)}  ${path === '' ? '.' : printableText(path)}`,
    );
  const more = events.length - rows.length + eventsCut;
  if (more > 0) rows.push(`and ${more} more`);
  const fence = fenceFor(rows);
  return `\n<details><summary>${markdownText(title)}</summary>\n\n${fence}\n${rows.join('\n')}\n${fence}\n\n</details>\n`;
}
