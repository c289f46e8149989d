import type { Change } from '../core/change.js';
import type { Image } from '../core/image.js';
import { printable } from '../core/printable.js';
import { PreimageError } from '../core/problem.js';
import type { ByteString, RelPath } from '../core/relpath.js';
import { KEEP_ALL, type Retention } from '../core/retention.js';
import { type Audit, type AuditRequest, auditTurns } from './audit.js';
import { type Blame, blameFile } from './blame.js';
import { type Exported, exportTurn } from './export.js';
import { countLines, type LineCounts } from './line-counts.js';
import { toRelPath, type WhichWorkspace } from './locate.js';
import type { RewindOptions } from './prepare-rewind.js';
import { type PruneResult, planPrune, prune } from './prune.js';
import {
  listTurns,
  showTurn,
  type Timeline,
  type TurnReport,
  type TurnSummary,
  turnsTouching,
  turnTimeline,
} from './report.js';
import type { RewindResult } from './rewind.js';
import { type SearchHit, searchTurns } from './search.js';
import { resolveRetention } from './settings.js';
import { type Stats, statsSince } from './stats.js';
import { openKnownWorkspace, type Workspace } from './workspace.js';
import { type WriteReportOptions, writeReport } from './write-report.js';

/** What to rewind; everything may be left out. */
export type RewindRequest = {
  /** The newest turn that is not rewound if left out. */
  readonly turn?: string;
  /** Paths as a user types them, relative to the working directory; all if empty. */
  readonly paths?: readonly string[];
  /** Puts back what is in conflict as well, after capturing it. */
  readonly force?: boolean;
  /** Puts back `.git` as well. */
  readonly git?: boolean;
  /**
   * Merges text files that were edited since: takes what the turns did out of them and leaves the
   * edits in. Where both changed the same lines the file stays in conflict.
   */
  readonly merge?: boolean;
  /**
   * Gives files that are put back the modification time that was recorded, to the microsecond, so that
   * a build takes them for what it has built already; without it they get the time of the rewind.
   */
  readonly preserveMtime?: boolean;
  readonly onProgress?: (done: number, total: number) => void;
};

/** The history of one workspace. Close it when done. */
export interface Store {
  /** Absolute path of the workspace, as a byte string. */
  readonly root: ByteString;
  /** Lists turns, newest first. */
  list(): TurnSummary[];
  /** Tells what a turn touched; throws `no-such-turn`. */
  show(turn: string): TurnReport;
  /** Tells what the watcher saw in a turn. */
  timeline(turn: string): Timeline;
  /** Lists the turns that touched a path or something below it, newest first. */
  log(path: string): ReturnType<typeof turnsTouching>;
  /** Looks for a text in labels, commands and changed paths; turns newest first. */
  search(text: string): SearchHit[];
  /** Tells who wrote each line of a file as it stands; throws `nothing-to-do` where nothing stands. */
  blame(path: string): Blame;
  /** Sums up the turns at work since a moment, in milliseconds since the epoch; 0 for all. */
  stats(since: number): Stats;
  /** Collects what a report of some turns needs; throws `no-such-turn`, `nothing-to-do`. */
  audit(request?: AuditRequest): Audit;
  /** Writes a report that was rendered into a private file; throws `usage` where none may be made. */
  writeReport(out: string, pieces: Iterable<string>, options?: WriteReportOptions): void;
  /** Gives one image of a turn; throws `no-such-turn` where the turn did not touch the path. */
  image(turn: string, path: string, side: 'pre' | 'post'): Image;
  /** Counts the lines that a change added and removed. */
  countLines(change: Change): LineCounts;
  /** Reads the bytes of a file image, checked against their hash. */
  read(image: Extract<Image, { type: 'file' }>): Buffer;
  /** Says what a rewind would do, by the same code, and changes nothing. */
  planRewind(request?: RewindRequest): Promise<RewindResult>;
  /** Puts the workspace back to how it was when a turn opened, later turns included. */
  rewind(request?: RewindRequest): Promise<RewindResult>;
  /** Takes the last rewind back. */
  redo(request?: Omit<RewindRequest, 'turn' | 'git' | 'merge'>): Promise<RewindResult>;
  /** Writes a turn's pre-images as a plain directory. */
  export(turn: string, out: string): Exported;
  /**
   * Drops the oldest turns that pass a limit, and all bytes that nothing needs any more. Without a
   * limit those of the settings hold, else only those that are given. The newest turn stays, and so
   * does what an open step needs. Throws `busy` and `damaged`.
   */
  prune(limits?: Partial<Retention>): PruneResult;
  /** Says what {@link prune} would drop, by the same choice, and changes nothing. */
  planPrune(limits?: Partial<Retention>): PruneResult;
  /** Turns a path as a user types it into one below the root; throws `usage` for one outside. */
  resolve(path: string): RelPath;
  close(): void;
}

/** Opens the history of a workspace; throws `no-such-turn` where nothing was ever recorded. */
export function openStore(which: string | WhichWorkspace): Store {
  return new WorkspaceStore(
    openKnownWorkspace(typeof which === 'string' ? { root: which } : which),
  );
}

class WorkspaceStore implements Store {
  readonly #workspace: Workspace;

  constructor(workspace: Workspace) {
    this.#workspace = workspace;
  }

  get root(): ByteString {
    return this.#workspace.root;
  }

  list(): TurnSummary[] {
    return listTurns(this.#workspace);
  }

  show(turn: string): TurnReport {
    return showTurn(this.#workspace, turn);
  }

  timeline(turn: string): Timeline {
    return turnTimeline(this.#workspace, turn);
  }

  log(path: string): ReturnType<typeof turnsTouching> {
    return turnsTouching(this.#workspace, this.resolve(path));
  }

  countLines(change: Change): LineCounts {
    return countLines(change, (image) => this.read(image));
  }

  search(text: string): SearchHit[] {
    return searchTurns(this.#workspace, text);
  }

  blame(path: string): Blame {
    return blameFile(this.#workspace, this.resolve(path));
  }

  stats(since: number): Stats {
    return statsSince(this.#workspace, since);
  }

  audit(request: AuditRequest = {}): Audit {
    return auditTurns(this.#workspace, request);
  }

  writeReport(out: string, pieces: Iterable<string>, options: WriteReportOptions = {}): void {
    writeReport(this.#workspace, out, { pieces, ...options });
  }

  image(turn: string, path: string, side: 'pre' | 'post'): Image {
    const wanted = this.resolve(path);
    const file = this.show(turn).files.find((change) => change.path === wanted);
    if (file !== undefined) return side === 'pre' ? file.before : file.after;
    const shown = printable(wanted);
    throw new PreimageError('no-such-turn', `Turn ${turn} did not touch ${shown}.`, {
      hint: `See what it touched with: preimage show ${turn}`,
    });
  }

  read(image: Extract<Image, { type: 'file' }>): Buffer {
    return this.#workspace.packs.read(image.sha256);
  }

  planRewind(request: RewindRequest = {}): Promise<RewindResult> {
    return this.#rewind(request, true);
  }

  rewind(request: RewindRequest = {}): Promise<RewindResult> {
    return this.#rewind(request, false);
  }

  async redo(request: Omit<RewindRequest, 'turn' | 'git' | 'merge'> = {}): Promise<RewindResult> {
    const { redo } = await import('./rewind.js');
    return redo(this.#workspace, this.#options(request, false));
  }

  export(turn: string, out: string): Exported {
    return exportTurn(this.#workspace, turn, out);
  }

  prune(limits: Partial<Retention> = {}): PruneResult {
    return prune(this.#workspace, this.#retention(limits));
  }

  planPrune(limits: Partial<Retention> = {}): PruneResult {
    return planPrune(this.#workspace, this.#retention(limits));
  }

  resolve(path: string): RelPath {
    return toRelPath(this.#workspace.located, path);
  }

  close(): void {
    this.#workspace.close();
  }

  /** A third of our code is for this alone: whoever only asks need not load it. */
  async #rewind(request: RewindRequest, dryRun: boolean): Promise<RewindResult> {
    const { rewind } = await import('./rewind.js');
    return rewind(this.#workspace, request.turn ?? 'newest', this.#options(request, dryRun));
  }

  #retention(limits: Partial<Retention>): Retention {
    if (Object.keys(limits).length === 0) return resolveRetention(this.#workspace.root);
    return { ...KEEP_ALL, ...limits };
  }

  #options(request: RewindRequest, dryRun: boolean): RewindOptions {
    return {
      paths: (request.paths ?? []).map((path) => this.resolve(path)),
      dryRun,
      force: request.force ?? false,
      git: request.git ?? false,
      merge: request.merge ?? false,
      preserveMtime: request.preserveMtime ?? false,
      onProgress: request.onProgress ?? (() => {}),
    };
  }
}
