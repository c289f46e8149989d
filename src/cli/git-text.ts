import {
  type Change,
  changeKind,
  type GitHead,
  type GitMove,
  type GitReport,
  printable,
  printableText,
  toText,
} from '../index.js';
import { type Tone, tint } from './style.js';

/** Up to this many changed paths of a repository's own data are listed one by one. */
const FEW_PATHS = 5;

/** What a turn moved in its repositories: a heading each, then a line a move. */
export function gitLines(reports: readonly GitReport[], all: boolean): string[] {
  return reports.flatMap((report) => {
    const { path, state, paths } = report;
    const made = state === 'kept' ? '' : `  ${tint(STATE_TONES[state], state)}`;
    const lines = report.moves.flatMap((move) => {
      const line = moveLine(move, report);
      return line === '' ? [] : [`  ${line}`];
    });
    if (!all && isFolded(report)) {
      lines.push(tint('faint', `  ${printable(path)}: ${paths} paths; --all lists them`));
    }
    // What only touches caches and logs of git has nothing to tell but its paths.
    if (lines.length === 0 && made === '') return [];
    return [`${tint('strong', 'git')} ${printable(path)}${made}`, ...lines];
  });
}

/** Picks the changes that are worth a line each: not the many of a repository's own data. */
export function unfolded(changes: readonly Change[], reports: readonly GitReport[]): Change[] {
  const folded = reports.filter(isFolded).map(({ path }) => path);
  const few = reports.filter((report) => !isFolded(report)).map(({ path }) => path);
  return changes.filter((change) => {
    // What was not captured cannot come back: that is never folded away.
    if (changeKind(change) === 'unknown') return true;
    const deepest = [...folded, ...few]
      .filter((path) => change.path === path || change.path.startsWith(`${path}/`))
      .sort((a, b) => b.length - a.length)[0];
    return deepest === undefined || few.includes(deepest);
  });
}

function isFolded({ paths }: GitReport): boolean {
  return paths > FEW_PATHS;
}

const STATE_TONES = { created: 'created', deleted: 'deleted' } as const satisfies Record<
  string,
  Tone
>;

function moveLine(move: GitMove, { moves, log, state }: GitReport): string {
  switch (move.kind) {
    case 'head':
      return `${headText(move)}${logText(log.at(-1))}`;
    case 'branch':
    case 'tag':
    case 'remote':
    case 'ref':
      // The branch that HEAD is on moves with it.
      return moves.some((head) => isSameMove(head, move)) ? '' : refText(move);
    case 'stash':
      return `stash ${STASH_WORDS[move.change]}  ${short(move.commit)}${logText(move.message)}`;
    case 'index': {
      const many = move.paths === 1 ? '1 path' : `${move.paths} paths`;
      return `index ${move.change}${move.paths === 'unknown' ? '' : `  ${many}`}`;
    }
    case 'operation':
      return `${move.operation} ${move.change}`;
    case 'config':
      return state === 'kept' ? `config ${move.change}` : '';
    case 'hook':
      return `hook ${printable(move.name)} ${move.change}`;
    case 'unread-refs':
      return 'branches or tags changed; they are in tables (reftable), which are not read';
  }
}

const STASH_WORDS = {
  pushed: 'pushed',
  dropped: 'dropped',
  'popped-or-dropped': 'popped or dropped',
} as const;

type HeadMove = Extract<GitMove, { kind: 'head' }>;
type RefMove = Extract<GitMove, { kind: 'branch' | 'tag' | 'remote' | 'ref' }>;

function headText({ change, from, to }: HeadMove): string {
  const ids = `  ${pairText(commitOf(from), commitOf(to))}`;
  switch (change) {
    case 'created':
      return `HEAD made, on ${nameOf(to)}  ${short(commitOf(to))}`;
    case 'deleted':
      return `HEAD was on ${nameOf(from)}  ${short(commitOf(from))}`;
    case 'reset':
      return `reset to HEAD  ${short(commitOf(to))}`;
    case 'switched':
      return `HEAD switched from ${nameOf(from)} to ${nameOf(to)}${ids}`;
    case 'detached':
      return `HEAD detached from ${nameOf(from)}${ids}`;
    case 'attached':
      return `HEAD attached to ${nameOf(to)}${ids}`;
    case 'moved':
      return `HEAD moved${to.kind === 'branch' ? ` on ${nameOf(to)}` : ', detached'}${ids}`;
  }
}

function refText({ kind, name, change, from, to }: RefMove): string {
  const what = `${kind === 'remote' ? 'remote branch' : kind} ${printable(name)} ${change}`;
  switch (change) {
    case 'created':
      return `${what}  ${short(to)}`;
    case 'deleted':
      return `${what}  ${short(from)}`;
    case 'moved':
      return `${what}  ${pairText(from, to)}`;
  }
}

function pairText(from: string, to: string): string {
  return from === to ? short(to) : `${short(from)} → ${short(to)}`;
}

function isSameMove(head: GitMove, { kind, name, from, to }: RefMove): boolean {
  if (head.kind !== 'head' || head.change !== 'moved' || kind !== 'branch') return false;
  return (
    nameOf(head.to) === printable(name) && commitOf(head.from) === from && commitOf(head.to) === to
  );
}

function commitOf(head: GitHead): string {
  return head.kind === 'branch' || head.kind === 'detached' ? head.commit : head.kind;
}

function nameOf(head: GitHead): string {
  return head.kind === 'branch' ? printable(head.branch) : 'no branch';
}

function logText(message: string | undefined): string {
  if (message === undefined || message === '') return '';
  return `  ${tint('faint', `(${printableText(toText(message).text)})`)}`;
}

/** As git shortens the name of an object; other words stay. */
function short(id: string): string {
  if (/^[0-9a-f]{40,64}$/.test(id)) return id.slice(0, SHORT);
  return id === 'none' ? 'nothing' : printableText(id);
}

const SHORT = 7;
