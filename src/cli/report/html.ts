import {
  type Audit,
  type AuditFile,
  type AuditTurn,
  changeKind,
  countChanges,
  printableText,
} from '../../index.js';
import { changeNote, countsText, foreignLine, localTime, MARKS, timeOfDay } from '../text.js';
import { html, visibleLine } from './escape.js';
import {
  fileName,
  headLines,
  leftText,
  linesText,
  sumLines,
  timelineTitle,
  workspaceName,
} from './facts.js';
import { PAGE_END, pageHead } from './page.js';

/**
 * Writes a report as one HTML page, piece by piece. All that comes from the history goes through
 * `html`, and the page's policy lets no other script run and nothing be loaded.
 */
export function* htmlReport(audit: Audit): Iterable<string> {
  const name = workspaceName(audit);
  const [only] = audit.turns;
  const what =
    audit.turns.length === 1 ? `turn ${only?.report.turn}` : `${audit.turns.length} turns`;
  yield pageHead(html(`preimage: ${what} in ${name}`));
  const since = audit.since === '' ? '' : `, since ${localTime(audit.since)}`;
  yield `<h1>What ${html(what)} touched in ${html(name)}</h1>\n`;
  yield `<p class="soft">Report of ${html(localTime(audit.madeAt))}${html(since)}</p>\n`;
  if (audit.turns.length > 1) yield turnTable(audit.turns);
  yield '<div id="find" hidden><input type="search" placeholder="Find a path" aria-label="Find a path"> <output class="soft"></output></div>\n';
  for (const turn of audit.turns) yield* turnSection(turn);
  yield PAGE_END;
}

function turnTable(turns: readonly AuditTurn[]): string {
  const rows = turns.map((turn) => {
    const { report } = turn;
    const about = report.label || report.command.join(' ');
    const counts = countsText(countChanges(report.files));
    return `<tr><td class="n"><a href="#turn-${html(report.turn)}">${html(report.turn)}</a></td><td class="n">${html(localTime(report.at))}</td><td class="n">${html(report.status)}</td><td>${html(counts)}</td><td>${html(linesText(sumLines(turn)))}</td><td>${html(printableText(about))}</td></tr>\n`;
  });
  return `<table>\n<tr><th>turn</th><th>when</th><th>state</th><th>paths</th><th>lines</th><th>what</th></tr>\n${rows.join('')}</table>\n`;
}

function* turnSection(turn: AuditTurn): Iterable<string> {
  const { report, files } = turn;
  yield `<section>\n<h2 id="turn-${html(report.turn)}">${html(report.turn)}${report.label === '' ? '' : `: ${html(printableText(report.label))}`}</h2>\n`;
  const state = report.partial ? `${report.status}, partial` : report.status;
  yield `<p>${html(localTime(report.at))}, ${html(state)}: ${html(countsText(countChanges(report.files)))}; ${html(linesText(sumLines(turn)))}</p>\n`;
  yield `<ul>\n${headLines(turn)
    .map((line) => `<li>${html(line)}</li>\n`)
    .join('')}</ul>\n`;
  yield '<div class="files">\n';
  for (const file of files) yield fileEntry(file);
  yield '</div>\n';
  yield timelineEntry(turn);
  yield '</section>\n';
}

function fileEntry(file: AuditFile): string {
  const { change, secret, diff } = file;
  const kind = changeKind(change);
  const counted = diff.added + diff.removed > 0;
  const head = [
    `<span class="k ${kind}" title="${kind}">${html(MARKS[kind][0])}</span>`,
    `<span class="name">${html(fileName(file))}</span>`,
    ...(secret ? ['<span class="mark">secret?</span>'] : []),
    `<span class="note soft">${html(changeNote(change))}</span>`,
    counted
      ? `<span class="count"><span class="plus">+${diff.added}</span> <span class="minus">−${diff.removed}</span></span>`
      : '',
  ].join('');
  const said = [leftText(diff), ...foreignLine(change)].filter((text) => text !== '');
  if (said.length === 0 && diff.lines.length === 0) return `<div class="file row">${head}</div>\n`;
  const notes = said.map((text) => `<p class="said">${html(text)}</p>`).join('');
  const text = diff.lines.map((line) => html(visibleLine(line))).join('\n');
  const pre = diff.lines.length === 0 ? '' : `<pre class="diff">${text}</pre>`;
  return `<details class="file"><summary>${head}</summary>${notes}${pre}</details>\n`;
}

function timelineEntry(turn: AuditTurn): string {
  const { eventsCut } = turn;
  const { events } = turn.timeline;
  const title = timelineTitle(turn);
  if (events.length === 0) return `<p class="soft">${html(title)}</p>\n`;
  const rows = events.map(({ at, kind, path }) => {
    const name = path === '' ? '.' : printableText(path);
    return `<tr><td class="n">${timeOfDay(at)}</td><td>${kind}</td><td><code>${html(name)}</code></td></tr>\n`;
  });
  const cut = eventsCut === 0 ? '' : `<p class="said">${eventsCut} more events are not shown</p>`;
  return `<details class="more"><summary>${html(title)}</summary><table>\n${rows.join('')}</table>${cut}</details>\n`;
}
