import { newestManifest } from '../core/history.js';
import { detailsOf } from '../core/record-details.js';
import { encodeRecord, type LogRecord, type OpenRecord } from '../core/records.js';
import type { LogPiece } from '../store/log-survey.js';
import { packName } from '../store/retired.js';
import { type Examined, turnsWith } from './examine.js';
import type { Workspace } from './workspace.js';

/** Something that a check of the store found. */
export type Finding = {
  /** `damage`: not what was written, or gone. `note`: strange, and nothing is lost by it. */
  readonly kind: 'damage' | 'note';
  /** Where, below the store's directory. */
  readonly place: string;
  readonly what: string;
  /** Ids of the turns that it touches; none where no turn needs what is damaged. */
  readonly turns: readonly string[];
};

/** Says what is wrong in a store that was examined. */
export function findingsOf(workspace: Workspace, examined: Examined): Finding[] {
  return [
    ...examined.pieces.flatMap((piece) => logFinding(examined, piece)),
    ...detailFindings(examined),
    ...manifestFindings(examined),
    ...packFindings(examined),
    ...contentFindings(workspace, examined),
  ];
}

function damage(place: string, what: string, turns: readonly string[]): Finding {
  return { kind: 'damage', place, what, turns };
}

function note(place: string, what: string): Finding {
  return { kind: 'note', place, what, turns: [] };
}

function logFinding(examined: Examined, piece: LogPiece): Finding[] {
  const line = `line ${piece.number}`;
  switch (piece.kind) {
    case 'line':
      return [];
    case 'torn':
      return [note('log', `${line} was not written to its end: what it would say never counted`)];
    case 'no-end': {
      const of = examined.pieces.find(({ kind, number }) => {
        return kind === 'line' && number === piece.number;
      });
      const record = of?.kind === 'line' ? of.parsed.record : undefined;
      return [damage('log', `the end of ${line} was changed`, turnsOf(examined, record))];
    }
    case 'missing':
      return [damage('log', `lines before ${line} are gone`, mendedTurns(examined))];
    case 'damaged': {
      const known = examined.history.steps.find(({ id }) => id === piece.step)?.open.turn;
      const turn = known ?? piece.turn;
      return [damage('log', `${line}: ${piece.why}`, turn === 'unknown' ? [] : [turn])];
    }
  }
}

function detailFindings(examined: Examined): Finding[] {
  const { details } = examined;
  const users = new Map<string, string[]>();
  for (const record of readRecords(examined)) {
    for (const name of detailsOf(record)) {
      users.set(name, [...(users.get(name) ?? []), ...turnsOf(examined, record)]);
    }
  }
  const isGone = (name: string): boolean =>
    !details.whole.has(name) && !details.damaged.includes(name);
  return [
    ...details.damaged.map((name) =>
      damage(`details/${name}`, CHANGED, [...new Set(users.get(name))]),
    ),
    ...[...users].flatMap(([name, turns]) =>
      isGone(name) ? [damage(`details/${name}`, 'it is missing', [...new Set(turns)])] : [],
    ),
  ];
}

function manifestFindings(examined: Examined): Finding[] {
  const { manifests, history } = examined;
  const open = openRecords(readRecords(examined));
  const isGone = (name: string): boolean =>
    !manifests.whole.has(name) && !manifests.damaged.includes(name);
  const findings = manifests.damaged.map((name) => {
    const turns = open.flatMap(({ manifest, turn }) => (manifest === name ? [turn] : []));
    return damage(`manifests/${name}`, CHANGED, turns);
  });
  for (const { manifest, turn } of open) {
    if (!isGone(manifest)) continue;
    findings.push(damage(`manifests/${manifest}`, 'an open step needs it and it is gone', [turn]));
  }
  const newest = newestManifest(history);
  const isNeeded = open.some(({ manifest }) => manifest === newest);
  if (newest !== 'none' && isGone(newest) && !isNeeded) {
    findings.push(note(`manifests/${newest}`, 'it is gone: the next open reads every file anew'));
  }
  return findings;
}

function packFindings({ packs, damagedRetiredLines }: Examined): Finding[] {
  const findings = packs.flatMap(({ number, faults, unfinished, index }) => {
    const place = `packs/${packName(number)}.pack`;
    const found = faults.map(({ offset, what }) => damage(place, `at byte ${offset}: ${what}`, []));
    if (unfinished > 0) found.push(note(place, `${unfinished} bytes at its end were not finished`));
    if (index === 'damaged') {
      found.push(note(`packs/${packName(number)}.idx`, 'it was damaged and is made anew'));
    }
    return found;
  });
  if (damagedRetiredLines > 0) {
    findings.push(damage('packs/retired', `${damagedRetiredLines} of its lines are damaged`, []));
  }
  return findings;
}

function contentFindings(workspace: Workspace, examined: Examined): Finding[] {
  const { lost, knownLost, vouchedFor, history, big } = examined;
  const findings = big.damaged.map((name) =>
    damage(`big/${name.slice(0, 2)}/${name}`, CHANGED, []),
  );
  const touched = turnsWith(workspace, history, lost);
  for (const sha256 of lost) {
    const turns = [...(touched.get(sha256) ?? [])];
    const what = `the content ${sha256.slice(0, 12)}… is lost`;
    if (knownLost.has(sha256)) {
      findings.push({ ...note('packs', `${what}, as an earlier repair has told`), turns });
    } else if (vouchedFor.has(sha256)) {
      const more =
        'the workspace as last scanned has it; a repair lets the next open store it anew';
      findings.push(damage('packs', `${what}; ${more}`, turns));
    } else {
      findings.push(damage('packs', what, turns));
    }
  }
  return findings;
}

const CHANGED = 'it is not what was written';

function readRecords({ pieces }: Examined): LogRecord[] {
  return pieces.flatMap((piece) => (piece.kind === 'line' ? [piece.parsed.record] : []));
}

function turnsOf({ history }: Examined, record: LogRecord | undefined): string[] {
  if (record === undefined || record.type === 'pruned') return [];
  const step = history.steps.find(({ id }) => id === record.step);
  return step === undefined ? [] : [step.open.turn];
}

/** Names the turns that have a step of which a line had to be made up. */
function mendedTurns(examined: Examined): string[] {
  const read = new Set(readRecords(examined).map(encodeRecord));
  const made = examined.records.filter((record) => !read.has(encodeRecord(record)));
  return [...new Set(made.flatMap((record) => turnsOf(examined, record)))];
}

function openRecords(records: readonly LogRecord[]): OpenRecord[] {
  const closed = new Set(records.flatMap((each) => (each.type === 'close' ? [each.step] : [])));
  return records.flatMap((each) => (each.type === 'open' && !closed.has(each.step) ? [each] : []));
}
