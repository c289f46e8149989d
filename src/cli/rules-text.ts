import { printable, type Watched } from '../index.js';

/** What there is to say of the rules of a run, a line each: breaches, an early end, what was put back. */
export function rulesLines(watched: Watched, options: { readonly stopOnDeny?: boolean }): string[] {
  const { broken, stoppedFor, closing } = watched;
  const lines: string[] = [];
  if (stoppedFor !== 'none') {
    const { path, rule } = stoppedFor;
    lines.push(`the command was ended early: ${printable(path)} was changed (${rule})`);
  }
  for (const { path, rule } of broken.slice(0, MOST_NAMED)) {
    lines.push(`rule broken: ${printable(path)}: ${rule}`);
  }
  if (broken.length > MOST_NAMED) {
    lines.push(`and ${broken.length - MOST_NAMED} more; see: preimage show ${watched.turn}`);
  }
  if ('kind' in closing) return lines;
  const { timeline } = closing.record;
  if (options.stopOnDeny === true && !WATCHERS.has(timeline.watcher)) {
    lines.push('warning: nothing watched, so --stop-on-deny could not end the command early');
  }
  const { leftOut } = closing.record;
  if (leftOut.length > 0 && watched.rules.allow.length + watched.rules.deny.length > 0) {
    const [first] = leftOut;
    const more = leftOut.length === 1 ? '' : ` and ${leftOut.length - 1} more`;
    const name = first === undefined ? '' : printable(first.path);
    lines.push(`warning: ${name}/${more} not looked into, so no rule is held there (--include)`);
  }
  return [...lines, ...putBackLines(watched)];
}

/** Reports whether everything that a run changed was put back at once. */
export function isBack({ putBack }: Watched): boolean {
  return putBack !== 'none' && !('kind' in putBack) && putBack.complete;
}

function putBackLines({ putBack, turn }: Watched): string[] {
  if (putBack === 'none') return [];
  if ('kind' in putBack) {
    const { error } = putBack;
    return [
      `NOT put back: ${error instanceof Error ? error.message : String(error)}`,
      `  Try again: preimage rewind ${turn} --git`,
    ];
  }
  if (putBack.complete) return ['all of it was put back at once (--atomic)'];
  const left = putBack.outcomes.filter(({ outcome }) => !DONE.has(outcome));
  return [
    'NOT all of it was put back:',
    ...left.map(({ path, outcome, reason }) => `  ${outcome}  ${printable(path)}  ${reason}`),
  ];
}

const WATCHERS: ReadonlySet<string> = new Set(['parcel', 'chokidar']);
const DONE: ReadonlySet<string> = new Set(['restored', 'deleted', 'unchanged']);

/** More breaches than this are not worth a line each on a terminal. */
const MOST_NAMED = 20;
