import { PreimageError } from '../core/problem.js';
import type { PrunedRecord } from '../core/pruned-record.js';
import { detailsOf } from '../core/record-details.js';
import type { LogRecord } from '../core/records.js';
import { readDetail } from '../store/details.js';
import { chainFrom, type ParsedLine, readBytes, readLog } from '../store/log.js';
import { type LogPiece, surveyLog } from '../store/log-survey.js';
import { earlierOf } from './earlier-chains.js';
import type { WhichWorkspace } from './locate.js';
import { openKnownWorkspace, type Workspace } from './workspace.js';

/** The end of a history's chain: whoever writes it down elsewhere can tell later what was changed. */
export type ChainHead = {
  /** Hash of the last line; each line holds the hash of the line before it. */
  readonly head: string;
  readonly lines: number;
};

/** Whether the history up to a line is what it was when somebody wrote down that line's hash. */
export type AnchorReport = {
  readonly state:
    | 'untouched'
    /** A line up to it, or a list of changes that such a line names, is not what was written. */
    | 'changed'
    /** It is the last line that a prune has dropped: what it vouches for is gone. */
    | 'dropped'
    /** No line has that hash, and none that stands now had it before a prune. */
    | 'unknown';
  /** What is wrong and where; `''` where nothing is. */
  readonly reason: string;
  /** Lines that the hash vouches for and that were checked. */
  readonly lines: number;
  /** Lines that came after it. */
  readonly since: number;
  /** What prunes have dropped: of that nothing can be said. */
  readonly dropped: { readonly turns: number; readonly at: string } | 'nothing';
};

/** Gives the end of a workspace's chain. Throws `no-such-turn` without a history, `damaged` at a fault. */
export function chainHead(which: WhichWorkspace): ChainHead {
  return withLayout(which, ({ layout }) => {
    const { head, records } = readLog(layout.log);
    return { head, lines: records.length };
  });
}

/**
 * Says whether the history is untouched up to the line with a hash: each line must follow from the one
 * before it, and each list of changes that they name must be what was written. The stored bytes
 * themselves are for `verifyStore` to check: the history names them by their hashes.
 */
export function checkAnchor(which: WhichWorkspace, expected: string): AnchorReport {
  if (!/^[0-9a-f]{64}$/.test(expected)) {
    throw new PreimageError('usage', `${JSON.stringify(expected)} is no hash of a line.`, {
      hint: 'It has 64 hexadecimal digits, as preimage verify --head prints it.',
    });
  }
  return withLayout(which, (workspace) => check(workspace, expected));
}

function withLayout<T>(which: WhichWorkspace, run: (workspace: Workspace) => T): T {
  const workspace = openKnownWorkspace(which);
  try {
    return run(workspace);
  } finally {
    workspace.close();
  }
}

function check(workspace: Workspace, expected: string): AnchorReport {
  const pieces = surveyLog(readBytes(workspace.layout.log));
  const lines = pieces.flatMap((piece) => (piece.kind === 'line' ? [piece.parsed] : []));
  const records = lines.map(({ record }) => record);
  const [first] = records;
  const report = (state: AnchorReport['state'], count: number, reason = ''): AnchorReport => ({
    state,
    reason,
    lines: count,
    since: lines.length - count,
    dropped: droppedBy(first),
  });
  const at = lines.findIndex(({ hash }) => hash === expected) + 1;
  const last = at > 0 ? at : lineBefore(lines, expected);
  if (last === 'dropped') {
    return report('dropped', 0, 'a prune has dropped the lines up to it');
  }
  const wrong = firstFault(pieces, last === 'unknown' ? lines.length : last);
  if (last === 'unknown') {
    if (wrong !== '') return report('changed', 0, wrong);
    return report('unknown', 0, 'no line of this history has that hash');
  }
  const fault = wrong || faultInDetails(workspace, records.slice(0, last));
  return fault === '' ? report('untouched', last) : report('changed', last, fault);
}

/** Finds how many lines had led to a hash before they were written anew by a prune. */
function lineBefore(
  [first, ...rest]: readonly ParsedLine[],
  expected: string,
): number | 'dropped' | 'unknown' {
  const texts = rest.map(({ text }) => text);
  for (const { before } of earlierOf(first?.record)) {
    if (before === expected) return 'dropped';
    const at = [...chainFrom(before, texts)].indexOf(expected);
    if (at >= 0) return at + 2;
  }
  return 'unknown';
}

function firstFault(pieces: readonly LogPiece[], lines: number): string {
  let seen = 0;
  for (const piece of pieces) {
    if (seen >= lines) return '';
    switch (piece.kind) {
      case 'line':
        seen += 1;
        break;
      case 'damaged':
        return `line ${piece.number} is not what was written`;
      case 'missing':
        return `lines before line ${piece.number} are gone`;
      case 'no-end':
        return `the end of line ${piece.number} was changed`;
      case 'torn':
        break;
    }
  }
  return '';
}

function faultInDetails({ layout }: Workspace, records: readonly LogRecord[]): string {
  for (const name of records.flatMap(detailsOf)) {
    try {
      readDetail(layout.details, name);
    } catch (error) {
      if (!(error instanceof PreimageError)) throw error;
      return error.message;
    }
  }
  return '';
}

function droppedBy(first: LogRecord | undefined): AnchorReport['dropped'] {
  const pruned: PrunedRecord | undefined = first?.type === 'pruned' ? first : undefined;
  return pruned === undefined ? 'nothing' : { turns: pruned.turns, at: pruned.at };
}
