import { type Change, type ChangeCounts, countChanges, isNoChange } from '../core/change.js';
import { type GitReport, reportGit } from '../core/git/report.js';
import {
  type History,
  isRewound,
  newestFirst,
  overlapping,
  type Turn,
  type WorkStep,
} from '../core/history.js';
import type { Image } from '../core/image.js';
import { isWithin, type RelPath } from '../core/relpath.js';
import { inPathOrder, type Squash, type SquashedChange, squash } from '../core/squash.js';
import { readDetail } from '../store/details.js';
import type { WatchEvent } from '../watch/watcher.js';

import { findTurn } from './choose-turn.js';
import { notesOf } from './git-notes.js';
import { findPassing, type PassingPath } from './passing.js';
import { storedBytes } from './stored-bytes.js';
import { decodeEvents } from './timeline-events.js';
import { intervalOf, type Workspace } from './workspace.js';

export type { WatchEvent } from '../watch/watcher.js';

/** How a turn stands. */
export type TurnStatus = 'open' | 'closed' | 'recovered' | 'rewound';

/** A turn in a list. */
export type TurnSummary = {
  readonly turn: string;
  readonly label: string;
  /** Command of the turn's first step; empty where there was none. */
  readonly command: readonly string[];
  /** ISO time when its first step opened. */
  readonly at: string;
  readonly status: TurnStatus;
  /** Some path was not captured. */
  readonly partial: boolean;
  readonly counts: ChangeCounts;
};

/** A turn in full. */
export type TurnReport = TurnSummary & {
  readonly steps: readonly WorkStep[];
  /** What the turn changed, in path order; what was written and put back within it is left out. */
  readonly files: readonly SquashedChange[];
  /** What it moved in each repository. */
  readonly git: readonly GitReport[];
  /** Ids of turns that were open at the same time. */
  readonly overlaps: readonly string[];
  /** Directories that a rule left out: what happened in them is not known. */
  readonly leftOut: readonly { readonly path: RelPath; readonly reason: string }[];
};

/** What came and went inside a turn. */
export type Timeline = {
  readonly complete: boolean;
  readonly reason: string;
  readonly watcher: string;
  readonly events: readonly WatchEvent[];
  /** Paths that came out as they were. */
  readonly passing: readonly PassingPath[];
};

/** Lists turns, newest first. */
export function listTurns(workspace: Workspace): TurnSummary[] {
  const { history } = workspace.readLog();
  return newestFirst(history).map((turn) => summarize(history, turn, turnChanges(workspace, turn)));
}

/** Tells what one turn touched; throws `no-such-turn`. */
export function showTurn(workspace: Workspace, id: string): TurnReport {
  const { history } = workspace.readLog();
  const turn = findTurn(workspace, history, id);
  const squashed = squash(turn.steps.map((step) => intervalOf(workspace, step)));
  const files = visible(squashed);
  const overlaps = new Set(overlapping(history, turn).map((step) => step.open.turn));
  return {
    ...summarize(history, turn, files),
    steps: turn.steps,
    files,
    git: gitOf(workspace, turn, squashed),
    overlaps: [...overlaps],
    leftOut: leftOutOf(turn),
  };
}

/** Lists the turns that touched a path or something below it, newest first, with those changes. */
export function turnsTouching(
  workspace: Workspace,
  path: RelPath,
): { readonly turn: TurnSummary; readonly files: readonly SquashedChange[] }[] {
  const { history } = workspace.readLog();
  return newestFirst(history).flatMap((turn) => {
    const all = turnChanges(workspace, turn);
    const files = all.filter((change) => isWithin(change.path, path));
    return files.length === 0 ? [] : [{ turn: summarize(history, turn, all), files }];
  });
}

/** Tells what the watcher saw in a turn, all of its steps in order. */
export function turnTimeline(workspace: Workspace, id: string): Timeline {
  const turn = findTurn(workspace, workspace.readLog().history, id);
  const parts = turn.steps.flatMap(({ end }) =>
    end.kind === 'closed' ? [end.record.timeline] : [],
  );
  const events = parts.flatMap((part) =>
    part.events === null ? [] : decodeEvents(readDetail(workspace.layout.details, part.events)),
  );
  const open = parts.length < turn.steps.length;
  const incomplete = parts.find((part) => !part.complete);
  return {
    complete: !open && incomplete === undefined,
    reason: open ? 'a step is still open' : (incomplete?.reason ?? ''),
    watcher: parts.at(-1)?.watcher ?? 'none',
    events,
    passing: findPassing(events, turnChanges(workspace, turn)),
  };
}

/** Gives a turn's checkpoint: the squash of its steps, without what came out as it was. */
export function turnChanges(workspace: Workspace, turn: Turn): SquashedChange[] {
  return visible(squash(turn.steps.map((step) => intervalOf(workspace, step))));
}

function visible(squashed: Squash): SquashedChange[] {
  return inPathOrder(squashed).filter((change) => !isNoChange(change));
}

/** Tells what the turn's changes mean to git, from what its steps noted beside them. */
function gitOf(workspace: Workspace, turn: Turn, changes: Squash): GitReport[] {
  const beside = new Map<RelPath, Image>();
  for (const note of turn.steps.flatMap((step) => notesOf(step))) {
    for (const { path, image } of note.beside) if (!beside.has(path)) beside.set(path, image);
  }
  return reportGit({
    changes,
    unchanged: (path) => beside.get(path) ?? 'unknown',
    bytes: (image) => storedBytes(workspace.packs, image),
  });
}

function leftOutOf(turn: Turn): TurnReport['leftOut'] {
  const found = new Map<RelPath, string>();
  for (const { end } of turn.steps) {
    if (end.kind !== 'closed') continue;
    for (const { path, reason } of end.record.leftOut) found.set(path, reason);
  }
  return [...found].map(([path, reason]) => ({ path, reason }));
}

/** Gives a turn as a list has it, from what it changed. */
export function summarize(history: History, turn: Turn, files: readonly Change[]): TurnSummary {
  const [first] = turn.steps;
  return {
    turn: turn.id,
    label: turn.steps.find((step) => step.open.label !== '')?.open.label ?? '',
    command: first?.open.command ?? [],
    at: first?.open.at ?? '',
    status: statusOf(history, turn),
    partial: files.some(
      ({ before, after }) => before.kind === 'skipped' || after.kind === 'skipped',
    ),
    counts: countChanges(files),
  };
}

function statusOf(history: History, turn: Turn): TurnStatus {
  if (turn.steps.some(({ end }) => end.kind === 'open')) return 'open';
  if (isRewound(history, turn)) return 'rewound';
  const recovered = turn.steps.some(({ end }) => end.kind === 'closed' && end.record.recovered);
  return recovered ? 'recovered' : 'closed';
}
