import { newestFirst, type Turn } from '../core/history.js';
import type { DiffLimits } from '../core/patch/text-diff.js';
import { PreimageError } from '../core/problem.js';
import { type ByteString, isGitData } from '../core/relpath.js';
import { lastActivity } from '../core/retention.js';
import { looksSecret } from '../core/secrets.js';
import type { SquashedChange } from '../core/squash.js';
import { makePatch, type Patch } from './patch.js';
import { showTurn, type Timeline, type TurnReport, turnTimeline } from './report.js';
import { storedBytes } from './stored-bytes.js';
import type { Workspace } from './workspace.js';

/** The diff of one file, cut to what a report has room for. */
export type AuditDiff = {
  /** Byte strings without LF; a long line ends with `…`. Not for `git apply`. */
  readonly lines: readonly ByteString[];
  /** Lines that were cut off at its end. */
  readonly cut: number;
  /** Why contents are not in it: as in a patch, or held back, or the report is full. */
  readonly left: Patch['left'] | 'secret' | 'full';
  readonly added: number;
  readonly removed: number;
};

/** A changed path in a report. */
export type AuditFile = {
  readonly change: SquashedChange;
  /** Its name looks like that of a secret. */
  readonly secret: boolean;
  readonly diff: AuditDiff;
};

/** A turn in a report. */
export type AuditTurn = {
  readonly report: TurnReport;
  /** What changed outside of repositories' own data, in path order. */
  readonly files: readonly AuditFile[];
  /** Paths in repositories' own data (`.git`) that changed: the report tells what they mean. */
  readonly gitFiles: number;
  /** What the watcher saw, outside of repositories' own data. */
  readonly timeline: Timeline;
  /** Events that were left out of the timeline because there are too many. */
  readonly eventsCut: number;
};

/** What some turns touched, all that a report needs. */
export type Audit = {
  /** Absolute path of the workspace. */
  readonly root: ByteString;
  /** ISO time when it was made. */
  readonly madeAt: string;
  /** ISO time from which on turns were taken; `''` where they were named. */
  readonly since: string;
  readonly turns: readonly AuditTurn[];
};

/** What goes into a report. */
export type AuditRequest = {
  /** Ids, in the order of the report; if empty the turns since a moment, else the newest. */
  readonly turns?: readonly string[];
  /** Milliseconds since the epoch: turns at work then or later, newest first. */
  readonly since?: number;
  /** Also the contents of files whose names look like secrets. */
  readonly secrets?: boolean;
  readonly limits?: AuditLimits;
};

/** How large a report may become. */
export type AuditLimits = {
  /** Lines of the diff of one file. */
  readonly fileLines: number;
  /** Characters of one line. */
  readonly lineLength: number;
  /** Bytes of all diffs together. */
  readonly bytes: number;
  /** Events of the timeline of one turn. */
  readonly events: number;
};

const AUDIT_LIMITS: AuditLimits = {
  fileLines: 400,
  lineLength: 2000,
  bytes: 8 * 1024 * 1024,
  events: 2000,
};

/** A report is read from top to bottom: no diff in it is worth more work. */
const DIFF_WORK: DiffLimits = { bytes: 1024 * 1024, edits: 1000 };
/** After so much of it the search is given up sooner; counted as in {@link Diffs}. About 2 s [measured]. */
const MAX_WORK = 20_000_000;
const LITTLE_WORK: DiffLimits = { ...DIFF_WORK, edits: 50 };
/** Larger files are not looked into. */
const LARGEST = 4 * 1024 * 1024;
/** After so many bytes of files a report is full. */
const MAX_READ = 512 * 1024 * 1024;

/**
 * Collects what some turns touched. Throws `no-such-turn` for an id that there is not, `nothing-to-do`
 * where no turn fits.
 */
export function auditTurns(workspace: Workspace, request: AuditRequest = {}): Audit {
  const { since = 0, limits = AUDIT_LIMITS } = request;
  const diffs = new Diffs(workspace, limits, request.secrets === true);
  const turns = chosen(workspace, request).map((id): AuditTurn => {
    const report = showTurn(workspace, id);
    const timeline = turnTimeline(workspace, id);
    const events = timeline.events.filter(({ path }) => !IN_GIT.test(path));
    const files = report.files
      .filter(({ path }) => !isGitData(path))
      .map((change) => {
        const secret = looksSecret(change.path);
        return { change, secret, diff: diffs.of(change, secret) };
      });
    return {
      report,
      files,
      gitFiles: report.files.length - files.length,
      timeline: { ...timeline, events: events.slice(0, limits.events) },
      eventsCut: Math.max(0, events.length - limits.events),
    };
  });
  return {
    root: workspace.root,
    madeAt: new Date().toISOString(),
    since: since === 0 ? '' : new Date(since).toISOString(),
    turns,
  };
}

/** The names of events are text. */
const IN_GIT = /(?:^|\/)\.git(?:\/|$)/;

function chosen(workspace: Workspace, { turns = [], since = 0 }: AuditRequest): string[] {
  if (turns.length > 0) return [...new Set(turns)];
  const { history } = workspace.readLog();
  const all = newestFirst(history);
  const wanted: Turn[] =
    since === 0 ? all.slice(0, 1) : all.filter((turn) => lastActivity(turn) >= since);
  if (wanted.length > 0) return wanted.map(({ id }) => id);
  const when = since === 0 ? '' : ` since ${new Date(since).toISOString()}`;
  throw new PreimageError('nothing-to-do', `There is no turn${when} to report.`, {
    hint: 'See the turns with: preimage list',
  });
}

/** Makes diffs until the report is full. */
class Diffs {
  readonly #workspace: Workspace;
  readonly #limits: AuditLimits;
  readonly #secrets: boolean;
  #bytes = 0;
  #read = 0;
  /** Squares of the lines that each diff added and removed: what the search for it takes at most. */
  #work = 0;

  constructor(workspace: Workspace, limits: AuditLimits, secrets: boolean) {
    this.#workspace = workspace;
    this.#limits = limits;
    this.#secrets = secrets;
  }

  of(change: SquashedChange, secret: boolean): AuditDiff {
    const { fileLines, lineLength, bytes } = this.#limits;
    if (this.#bytes >= bytes || this.#read >= MAX_READ)
      return { lines: [], cut: 0, left: 'full', added: 0, removed: 0 };
    const { lines, left, added, removed } = this.#patch(change);
    if (secret && !this.#secrets && lines.length > 0) {
      return { lines: [], cut: 0, left: 'secret', added, removed };
    }
    // A head without contents says nothing that `left` does not say.
    if (left !== 'nothing') return { lines: [], cut: 0, left, added, removed };
    const kept = lines.slice(0, fileLines).map((line) => shortened(line, lineLength));
    this.#bytes += kept.reduce((sum, line) => sum + line.length + 1, 0);
    return { lines: kept, cut: lines.length - kept.length, left, added, removed };
  }

  #patch(change: SquashedChange): Patch {
    let lost = false;
    const patch = makePatch(
      change,
      (image) => {
        const stored = storedBytes(this.#workspace.packs, image);
        lost ||= stored === 'unknown';
        this.#read += image.bytes;
        return stored === 'unknown' ? NOTHING : stored;
      },
      { limits: this.#work < MAX_WORK ? DIFF_WORK : LITTLE_WORK, largest: LARGEST },
    );
    this.#work += Math.min(patch.added + patch.removed, DIFF_WORK.edits) ** 2;
    if (!lost) return patch;
    return { lines: [], left: 'not-captured', added: 0, removed: 0 };
  }
}

const NOTHING = Buffer.alloc(0);
/** `…` as a byte string. */
const ELLIPSIS = '\u00e2\u0080\u00a6';

/** Cuts a byte string, and not within a character of UTF-8. */
function shortened(line: ByteString, length: number): ByteString {
  if (line.length <= length) return line;
  let end = length;
  while (end > 0 && (line.charCodeAt(end) & 0xc0) === 0x80) end--;
  return `${line.slice(0, end)} ${ELLIPSIS}`;
}
