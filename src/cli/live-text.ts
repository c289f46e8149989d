import { type LiveChange, printable, type TurnReport } from '../index.js';
import { changeJson, turnJson } from './json.js';
import { tint } from './style.js';
import { changeLine } from './text.js';

/** One line for a path that has settled: how it stands now beside how it stood at the opening. */
export function liveLine({ change, asBefore }: LiveChange): string {
  if (!asBefore) return changeLine(change);
  return tint('faint', `= ${printable(change.path)}  as before`, process.stderr);
}

/** The same as one line of JSON. */
export function liveJson({ at, change, asBefore }: LiveChange): string {
  const moment = new Date(at).toISOString();
  return JSON.stringify({ event: 'change', at: moment, asBefore, ...changeJson(change) });
}

/** The beginning of a turn of a watch without a command, as one line of JSON. */
export function openedLine(turn: string): string {
  return JSON.stringify({ event: 'opened', at: new Date().toISOString(), turn });
}

/** The end of a turn of a watch without a command, as one line of JSON. */
export function closedJson(report: TurnReport): string {
  return JSON.stringify({ event: 'closed', ...turnJson(report) });
}
