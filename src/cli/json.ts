import {
  type ByteString,
  type Change,
  type Check,
  changeKind,
  type ForeignEdit,
  formatDuration,
  type Image,
  listAttributes,
  type OpenedStep,
  type Outcome,
  type PruneResult,
  type Retention,
  type RewindResult,
  type Status,
  type Timeline,
  type TurnReport,
  type TurnSummary,
  toText,
  type VerifyReport,
  type WorkStep,
} from '../index.js';
import { gitJson } from './git-json.js';

/** Prints one JSON document on stdout, or on the stream that is not the command's. */
export function printJson(document: unknown, stream: NodeJS.WriteStream = process.stdout): void {
  stream.write(`${JSON.stringify(document, null, 2)}\n`);
}

/** A turn in full, as CONTRACT.md gives it. */
export function turnJson(report: TurnReport): object {
  const { turn, label, at, status, partial, steps, files, git, overlaps, leftOut } = report;
  return {
    turn,
    label,
    at,
    status,
    partial,
    steps: steps.map(stepJson),
    files: files.map((file) => ({ ...changeJson(file), ...foreignJson(file.foreign) })),
    git: git.map((one) => ({ ...pathJson(one.path), ...gitJson(one) })),
    overlaps,
    leftOut: leftOut.map(({ path, reason }) => ({ ...pathJson(path), reason })),
  };
}

/** A turn in a list. */
export function summaryJson(summary: TurnSummary): object {
  const { turn, label, command, at, status, partial, counts } = summary;
  return { turn, label, command, at, status, partial, counts };
}

/** A step that was opened. */
export function openedJson({ record, scanned }: OpenedStep): object {
  const { files, bytes } = scanned.manifest.meta;
  return {
    turn: record.turn,
    step: record.step,
    at: record.at,
    baseline: { files, bytes },
    overBudget: scanned.overBudget,
    watcher: record.watcher,
    warnings: scanned.warnings,
  };
}

/** One changed path. */
export function changeJson(change: Change): object {
  return {
    ...pathJson(change.path),
    change: changeKind(change),
    pre: imageJson(change.before),
    post: imageJson(change.after),
  };
}

/** A rewind's or a redo's result. */
export function rewindJson(result: RewindResult): object {
  const { turn, turns, complete, outcomes, gitLeftAlone } = result;
  return {
    turn,
    turns,
    complete,
    outcomes: outcomes.map(outcomeJson),
    gitLeftAlone,
  };
}

function outcomeJson({ path, outcome, reason, foreign }: Outcome): object {
  const why = reason === '' ? {} : { reason };
  return { ...pathJson(path), outcome, ...why, ...foreignJson(foreign ?? []) };
}

/** Between which steps somebody else changed a path. */
export function foreignJson(foreign: readonly ForeignEdit[]): { foreign?: object[] } {
  if (foreign.length === 0) return {};
  return { foreign: foreign.map(({ after, before }) => ({ after, before })) };
}

/** What came and went. */
export function timelineJson({ complete, reason, watcher, events, passing }: Timeline): object {
  return {
    complete,
    ...(complete ? {} : { reason }),
    watcher,
    events: events.map(({ at, path, kind }) => ({
      at: new Date(at).toISOString(),
      path: path === '' ? '.' : path,
      event: kind,
    })),
    passing,
  };
}

/** How a workspace stands. */
export function statusJson(status: Status): object {
  const { root, store, openTurns, turns, baseline, sizes, watcher, rules, leftOut } = status;
  return {
    root: toText(root).text,
    store,
    openTurns: openTurns.map(({ turn }) => turn),
    turns,
    baseline: baseline === 'none' ? null : baseline,
    sizes,
    watcher,
    scan: { by: status.scan.by, ...watchmanJson(status.scan.last) },
    rules,
    leftOut: leftOut.map(({ path, reason }) => ({ ...pathJson(path), reason })),
    leftOutCount: status.leftOutCount,
    overBudget: status.overBudget,
    recovered: status.recovered.map(({ step, turn, left }) => ({
      step,
      turn,
      left: left.map(outcomeJson),
    })),
    limits: status.limits,
    retention: retentionJson(status.retention),
  };
}

/** What came of asking watchman. */
function watchmanJson(watchman: WorkStep['open']['watchman']): object {
  if (watchman === undefined) return {};
  const { named, reason } = watchman;
  return { named, ...(reason === '' ? {} : { reason }) };
}

/** What a prune dropped, or would. */
export function pruneJson(result: PruneResult, dryRun: boolean): object {
  const { turns, kept, freed, waiting, history, notes } = result;
  return { dryRun, turns, kept, freed, waiting, history, notes };
}

/** What a check of the store came to. */
export function verifyJson(report: VerifyReport): object {
  const { whole, turns, findings, repairs, checked } = report;
  return { whole, turns, findings, repairs, checked };
}

/** What the doctor looked at. */
export function doctorJson(checks: readonly Check[]): object {
  return { ok: checks.every(({ state }) => state !== 'wrong'), checks };
}

/** How much history is kept; 0 is no limit. */
function retentionJson({ keep, olderThan, maxSize }: Retention): object {
  return { keep, olderThan: olderThan === 0 ? 0 : formatDuration(olderThan), maxSize };
}

/** A path; where it is not UTF-8 its bytes stand beside the lossy text. */
export function pathJson(path: ByteString): { path: string; pathBytes?: string } {
  if (path === '') return { path: '.' };
  const { text, lossy } = toText(path);
  return lossy
    ? { path: text, pathBytes: Buffer.from(path, 'latin1').toString('base64') }
    : { path: text };
}

/** An image. */
export function imageJson(image: Image): object {
  switch (image.kind) {
    case 'absent':
      return { kind: 'absent' };
    case 'skipped':
      return { kind: 'skipped', reason: image.reason };
    case 'content':
      switch (image.type) {
        case 'file': {
          const { kind, type, sha256, bytes, mode, uid, gid } = image;
          const file = { kind, type, sha256, bytes, mode: octal(mode), uid, gid };
          return { ...file, ...attributesJson(image) };
        }
        case 'symlink': {
          const { kind, type, target, uid, gid } = image;
          const { text, lossy } = toText(target);
          const targetBytes = Buffer.from(target, 'latin1').toString('base64');
          return { kind, type, target: text, ...(lossy ? { targetBytes } : {}), uid, gid };
        }
        case 'fifo':
        case 'directory': {
          const { kind, type, mode, uid, gid } = image;
          return { kind, type, mode: octal(mode), uid, gid, ...attributesJson(image) };
        }
      }
  }
}

/** Extended attributes and ACLs by name, their values in base64; nothing where there are none. */
function attributesJson({ attributes = '' }: { readonly attributes?: string }): object {
  const entries = listAttributes(attributes).map(({ name, value }) => [name, value]);
  return entries.length === 0 ? {} : { attributes: Object.fromEntries(entries) };
}

/** Permission bits as four octal digits. */
export function octal(mode: number): string {
  return mode.toString(8).padStart(4, '0');
}

function stepJson({ id, open, end }: WorkStep): object {
  const { kind, command, cwd, at: openedAt, watchman } = open;
  const asked = watchman === undefined ? {} : { watchman: watchmanJson(watchman) };
  const shared = { id, kind, command, cwd, openedAt, ...asked };
  if (end.kind === 'open') return { ...shared, closedAt: null, exitCode: null };
  const { at, exitCode, recovered, warnings } = end.record;
  const unsettled = end.record.unsettled.map(pathJson);
  const broken = end.record.broken.map(({ path, rule }) => ({ ...pathJson(path), rule }));
  return {
    ...shared,
    closedAt: at,
    exitCode,
    recovered,
    warnings,
    ...(unsettled.length === 0 ? {} : { unsettled }),
    ...(broken.length === 0 ? {} : { broken }),
  };
}
