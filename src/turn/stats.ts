import { type ChangeCounts, changeKind, countChanges } from '../core/change.js';
import { isRewound, newestFirst, type Turn } from '../core/history.js';
import type { Image } from '../core/image.js';
import { isGitData, type RelPath } from '../core/relpath.js';
import { lastActivity } from '../core/retention.js';
import { countLines } from './line-counts.js';
import { turnChanges } from './report.js';
import { storedBytes } from './stored-bytes.js';
import type { Workspace } from './workspace.js';

/** What was recorded since a moment, in figures. */
export type Stats = {
  /** ISO time from which on turns count; `''` for all. */
  readonly since: string;
  readonly turns: number;
  /** Commands, pairs of hooks, sessions. */
  readonly steps: number;
  /** Different paths that changed, without a repository's own data. */
  readonly files: number;
  /** Different paths of repositories' own data (`.git`): they are in no other figure. */
  readonly gitFiles: number;
  /** Changes of each kind, turn by turn. */
  readonly counts: ChangeCounts;
  /** Bytes of the files that changed: as the turns found them, and as they left them. */
  readonly bytes: { readonly before: number; readonly after: number };
  readonly lines: {
    readonly added: number;
    readonly removed: number;
    /** Files whose lines were not counted: binary, too large, or too many. */
    readonly uncounted: number;
  };
  readonly rewinds: number;
  readonly redos: number;
  /** Turns that are wholly undone now. */
  readonly rewound: number;
  /** Turns that prunes have dropped, at any time: they are in no figure. */
  readonly dropped: number;
};

/** After so many bytes of texts, the lines of the files that follow are not counted. */
const MAX_READ = 256 * 1024 * 1024;

/**
 * Sums up the turns that were at work at a moment or later (milliseconds since the epoch; 0 for all),
 * each with all of its steps, and the rewinds since.
 */
export function statsSince(workspace: Workspace, since: number): Stats {
  const { history } = workspace.readLog();
  const turns = newestFirst(history).filter((turn) => lastActivity(turn) >= since);
  const rewinds = history.steps.filter(
    (step) => step.kind === 'rewind' && Date.parse(step.open.at) >= since,
  );
  const kinds = rewinds.flatMap((step) => (step.kind === 'rewind' ? [step.open.kind] : []));
  const redos = kinds.filter((kind) => kind === 'redo').length;
  return {
    since: since === 0 ? '' : new Date(since).toISOString(),
    turns: turns.length,
    steps: turns.reduce((sum, { steps }) => sum + steps.length, 0),
    ...sumChanges(workspace, turns),
    rewinds: kinds.length - redos,
    redos,
    rewound: turns.filter((turn) => isRewound(history, turn)).length,
    dropped: history.pruned.turns,
  };
}

function sumChanges(
  workspace: Workspace,
  turns: readonly Turn[],
): Pick<Stats, 'files' | 'gitFiles' | 'counts' | 'bytes' | 'lines'> {
  const paths = new Set<RelPath>();
  const inGit = new Set<RelPath>();
  const counts = { ...countChanges([]) };
  const bytes = { before: 0, after: 0 };
  const lines = { added: 0, removed: 0, uncounted: 0 };
  let read = 0;
  for (const turn of turns) {
    for (const change of turnChanges(workspace, turn)) {
      if (isGitData(change.path)) {
        inGit.add(change.path);
        continue;
      }
      paths.add(change.path);
      counts[changeKind(change)] += 1;
      bytes.before += sizeOf(change.before);
      bytes.after += sizeOf(change.after);
      const counted = read > MAX_READ ? 'uncounted' : countLines(change, storedOr(workspace));
      if (counted === 'uncounted') {
        lines.uncounted += 1;
        continue;
      }
      lines.added += counted.added;
      lines.removed += counted.removed;
      read += counted.bytes;
    }
  }
  return { files: paths.size, gitFiles: inGit.size, counts, bytes, lines };
}

const LOST = Buffer.alloc(1);

/** What the store has lost has no lines: a NUL is no text. */
function storedOr({ packs }: Workspace): Parameters<typeof countLines>[1] {
  return (image) => {
    const bytes = storedBytes(packs, image);
    return bytes === 'unknown' ? LOST : bytes;
  };
}

function sizeOf(image: Image): number {
  return image.kind === 'content' && image.type === 'file' ? image.bytes : 0;
}
