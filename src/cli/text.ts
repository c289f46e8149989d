import {
  betweenWords,
  type Change,
  type ChangeCounts,
  changedAttributes,
  changeKind,
  formatSize,
  type Image,
  looksSecret,
  printable,
  printableText,
  type RewindResult,
  type SquashedChange,
  type TurnReport,
  type TurnSummary,
  type WorkStep,
} from '../index.js';
import { octal } from './json.js';
import { type Tone, tint } from './style.js';

/** The letter and the colour of each kind of change. */
export const MARKS = {
  created: ['A', 'created'],
  modified: ['M', 'modified'],
  deleted: ['D', 'deleted'],
  type: ['T', 'modified'],
  metadata: ['P', 'modified'],
  unknown: ['?', 'strange'],
} as const satisfies Record<ReturnType<typeof changeKind>, readonly [string, Tone]>;

/** One changed path on a line: letter, name, what is worth saying about it. */
export function changeLine(change: Change, how: Partial<ChangeStyle> = {}): string {
  const [letter, tone] = MARKS[changeKind(change)];
  const shown = how.name ?? printable(change.path);
  const name = shown + (isDirectoryChange(change) ? '/' : '');
  const notes = [how.lines ?? '', tint('faint', changeNote(change))].filter((note) => note !== '');
  if (looksSecret(change.path)) notes.push(tint('strange', 'looks like a secret'));
  return [`${tint(tone, letter)} ${name}`, ...notes].join('  ');
}

/** How a changed path is shown. */
type ChangeStyle = {
  /** In the place of its whole path. */
  readonly name: string;
  /** Lines added and removed, in words. */
  readonly lines: string;
};

/** Says where somebody else changed a path between the steps of a turn. */
export function foreignLine({ path, foreign }: SquashedChange): string[] {
  if (foreign.length === 0) return [];
  return [
    tint('strange', `! ${printable(path)}  changed by somebody else ${betweenWords(foreign)}`),
  ];
}

/** Counts in words: `1 created, 4 modified`; `nothing changed` where there is nothing. */
export function countsText(counts: ChangeCounts): string {
  const parts = [
    [counts.created, 'created'],
    [counts.modified, 'modified'],
    [counts.deleted, 'deleted'],
    [counts.type, 'of new type'],
    [counts.metadata, 'permissions only'],
    [counts.unknown, 'not captured'],
  ] as const;
  const said = parts.flatMap(([count, word]) => (count === 0 ? [] : [`${count} ${word}`]));
  return said.length === 0 ? 'nothing changed' : said.join(', ');
}

/** A turn's head: id, state, when, how long, how it ended, what ran. */
export function turnHead(report: TurnReport): string[] {
  const lines = [
    [
      tint('strong', `turn ${report.turn}`),
      statusText(report),
      localTime(report.at),
      ...(report.label === '' ? [] : [cut(printableText(report.label), labelWidth(report))]),
    ].join('  '),
  ];
  for (const step of report.steps) {
    lines.push(
      `  ${stepLine(step, terminalWidth() - 2)}`,
      ...stepNotes(step).map((note) => `    ${note}`),
    );
  }
  if (report.overlaps.length > 0) {
    lines.push(`  at the same time: ${report.overlaps.join(', ')}`);
  }
  for (const { path, reason } of report.leftOut) {
    lines.push(`  not looked into: ${printable(path)}/  ${tint('faint', printableText(reason))}`);
  }
  return lines;
}

/** What is left of a line for a label behind id, state and moment. */
function labelWidth({ turn, status, partial }: TurnSummary): number {
  const state = status.length + (partial ? ', partial'.length : 0);
  const before = `turn ${turn}`.length + state + MOMENT_WIDTH + 3 * 2;
  return Math.max(LEAST_SHOWN, terminalWidth() - before);
}

const MOMENT_WIDTH = '2026-11-30 10:00:00'.length;

/** One line of the list of turns. */
export function summaryLine(summary: TurnSummary, idWidth: number): string {
  const what = printableText(summary.label || summary.command.join(' '));
  const state = summary.status === 'closed' ? '' : `  ${tint('strange', summary.status)}`;
  const partial = summary.partial ? `  ${tint('strange', 'partial')}` : '';
  const head = `${summary.turn.padEnd(idWidth)}  ${localTime(summary.at)}  `;
  const facts = `${countsText(summary.counts)}`;
  const plain = head.length + facts.length + (state === '' ? 0 : summary.status.length + 2);
  const room = terminalWidth() - plain;
  const about = cut(what, room - (partial === '' ? 2 : 11));
  return [
    tint('strong', summary.turn.padEnd(idWidth)),
    head.slice(idWidth),
    facts,
    state,
    partial,
    about === '' ? '' : `  ${tint('faint', about)}`,
  ].join('');
}

/** A rewind's or a redo's outcomes: a line for each path that needs one, then the sum. */
export function rewindLines(
  result: RewindResult,
  options: { readonly verb: string; readonly dryRun: boolean; readonly verbose: boolean },
): string[] {
  const lines: string[] = [];
  const done: string[] = [];
  const counts = new Map<string, number>();
  for (const { path, outcome, reason } of result.outcomes) {
    counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
    const tone = OUTCOME_TONES[outcome];
    if (outcome === 'unchanged') continue;
    const why = reason === '' ? '' : `  ${tint('faint', printableText(reason))}`;
    const line = `${tint(tone, outcome.padEnd(8))}  ${printable(path)}${why}`;
    if (tone === 'strange' || reason !== '') lines.push(line);
    else if (options.verbose) done.push(line);
  }
  lines.unshift(...done.slice(0, MOST_DONE));
  if (done.length > MOST_DONE) lines.splice(MOST_DONE, 0, `and ${done.length - MOST_DONE} more`);
  const sum = [...counts].map(([outcome, count]) => plural(count, outcome)).join(', ');
  const turns = result.turns.length === 0 ? result.turn : result.turns.join(', ');
  const would = options.dryRun ? ' (dry run: nothing was changed)' : '';
  lines.push(`${options.verb} ${turns}: ${sum === '' ? 'nothing to do' : sum}${would}`);
  if (counts.has('conflict')) {
    lines.push(
      'what is in conflict was left alone; --merge keeps both where texts merge,',
      '--force puts it back and captures it first',
    );
  }
  const kept = result.outcomes.filter(
    ({ outcome, reason }) => outcome === 'unchanged' && reason !== '',
  );
  if (kept.length > 0) {
    const paths = kept.length === 1 ? '1 path' : `${kept.length} paths`;
    lines.push(`.git: ${paths} kept, for the repository was used since and may need them`);
  }
  if (result.gitLeftAlone > 0) {
    const paths = result.gitLeftAlone === 1 ? '1 path' : `${result.gitLeftAlone} paths`;
    lines.push(`.git was left alone (${paths} differ); --git puts it back as well`);
  }
  return lines;
}

/** More paths that went well are not worth a line each. */
const MOST_DONE = 30;

function plural(count: number, outcome: string): string {
  return outcome === 'conflict' && count !== 1 ? `${count} conflicts` : `${count} ${outcome}`;
}

/** A moment in local time, to the second. */
export function localTime(iso: string): string {
  const at = new Date(iso);
  const two = (value: number): string => String(value).padStart(2, '0');
  const date = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  return `${date} ${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

/** A moment's time of day in local time, to the millisecond. */
export function timeOfDay(ms: number): string {
  const iso = new Date(ms).toISOString();
  return `${localTime(iso).slice(11)}.${iso.slice(20, 23)}`;
}

/** Cuts a text to a width; a character counts as one column, or two where it is not ASCII. */
function cut(text: string, width: number): string {
  let used = 0;
  let out = '';
  for (const char of text) {
    used += char <= '~' ? 1 : 2;
    if (used > width - 1) return width < 4 ? '' : `${out}…`;
    out += char;
  }
  return out;
}

const OUTCOME_TONES = {
  restored: 'modified',
  deleted: 'deleted',
  unchanged: 'faint',
  conflict: 'strange',
  skipped: 'strange',
  failed: 'strange',
} as const satisfies Record<RewindResult['outcomes'][number]['outcome'], Tone>;

function statusText({ status, partial }: TurnSummary): string {
  const text = partial ? `${status}, partial` : status;
  return tint(status === 'closed' && !partial ? 'faint' : 'strange', text);
}

/** One step of a turn on a line of a width: what ran, where, how long, how it ended. */
export function stepLine({ id, open, end }: WorkStep, width = Number.POSITIVE_INFINITY): string {
  const head = `step ${id}  `;
  const where = open.cwd === '.' ? '' : `  in ${printableText(open.cwd)}`;
  const tail = `${where}  ${end.kind === 'open' ? 'still open' : endText(open.at, end.record)}`;
  const what = open.command.length === 0 ? open.kind : printableText(open.command.join(' '));
  return `${head}${cut(what, Math.max(LEAST_SHOWN, width - head.length - tail.length))}${tail}`;
}

function endText(openedAt: string, { at, exitCode, recovered }: Closing): string {
  const seconds = (Date.parse(at) - Date.parse(openedAt)) / 1000;
  const code = exitCode === null ? '' : `  exit ${exitCode}`;
  return `${seconds.toFixed(1)} s${code}${recovered ? '  recovered after a crash' : ''}`;
}

type Closing = Extract<WorkStep['end'], { kind: 'closed' }>['record'];

/** So much of a command is shown however narrow the terminal is. */
const LEAST_SHOWN = 20;

/** Columns of the terminal that is written to; without end in a pipe. */
function terminalWidth(): number {
  return process.stdout.isTTY === true ? process.stdout.columns : Number.POSITIVE_INFINITY;
}

/** Why a step was opened slowly, what it left moving, and what it changed against its rules. */
export function stepNotes({ open, end }: WorkStep): string[] {
  const why = printableText(open.watchman?.reason ?? '');
  const looked = why === '' ? [] : [tint('faint', `every file was looked at: ${why}`)];
  if (end.kind === 'open') return looked;
  const { unsettled, broken } = end.record;
  const moving = unsettled.map((path) => `still written to when it closed: ${printable(path)}`);
  const breaches = broken.map(({ path, rule }) => `rule broken: ${printable(path)}: ${rule}`);
  return [...looked, ...[...moving, ...breaches].map((note) => tint('strange', note))];
}

/** Reports whether it is a directory that came, changed or went. */
export function isDirectoryChange({ before, after }: Change): boolean {
  const image = after.kind === 'absent' ? before : after;
  return image.kind === 'content' && image.type === 'directory';
}

/** Says what is worth saying about a change: sizes, modes, targets; `''` where nothing is. */
export function changeNote({ before, after }: Change): string {
  if (before.kind === 'skipped') return `not captured: ${printableText(before.reason)}`;
  if (after.kind === 'skipped') return `now not captured: ${printableText(after.reason)}`;
  if (before.kind === 'content' && after.kind === 'content') {
    if (before.type !== after.type) return `${before.type} → ${after.type}`;
    const notes: string[] = [];
    if (before.type === 'file' && after.type === 'file' && before.sha256 !== after.sha256) {
      notes.push(sizes(before.bytes, after.bytes));
    }
    if (before.type === 'symlink' && after.type === 'symlink' && before.target !== after.target) {
      notes.push(`→ ${printable(after.target)}`);
    }
    if (before.type !== 'symlink' && after.type !== 'symlink' && before.mode !== after.mode) {
      notes.push(`${octal(before.mode)} → ${octal(after.mode)}`);
    }
    if (before.uid !== after.uid || before.gid !== after.gid) {
      notes.push(`owner ${before.uid}:${before.gid} → ${after.uid}:${after.gid}`);
    }
    const names = changedAttributes({ before, after });
    if (names.length > 0) notes.push(`attributes ${names.join(', ')}`);
    return notes.join(', ');
  }
  return oneSided(before.kind === 'absent' ? after : before);
}

function oneSided(image: Image): string {
  if (image.kind !== 'content' || image.type === 'directory') return '';
  if (image.type === 'fifo') return 'named pipe';
  return image.type === 'file' ? formatSize(image.bytes) : `→ ${printable(image.target)}`;
}

function sizes(before: number, after: number): string {
  const [from, to] = [formatSize(before), formatSize(after)];
  return from === to ? from : `${from} → ${to}`;
}
