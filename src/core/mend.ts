import type {
  ChangesRef,
  CloseRecord,
  LogRecord,
  OpenRecord,
  RewindRecord,
  RewoundRecord,
} from './records.js';

/** A record that can still be read, or the place of one that cannot, with what it seems to speak of. */
export type Salvaged =
  | { readonly kind: 'record'; readonly record: LogRecord }
  | { readonly kind: 'lost'; readonly step: number | 'unknown'; readonly turn: string | 'unknown' };

/** What of the store beside the log can be used. */
export type MendFacts = {
  readonly hasManifest: (id: string) => boolean;
  readonly hasDetail: (sha256: string) => boolean;
};

/**
 * Makes a history out of what is left of a log: each step opens once and ends once, in its old place.
 * What is not known any more is said to be unknown, never made up:
 *
 * - a step whose opening is lost keeps its changes, under the turn that its line seems to name;
 * - a step whose close is lost is closed with no changes, unless it is the newest: then it is left
 *   open and the next command closes it from its manifest;
 * - a rewind whose end is lost counts as done, for each path is compared before it is touched again;
 * - a rewind whose beginning is lost counts as a redo of the one before: then no turn counts as
 *   rewound that may not be, and rewinding it again does no harm;
 * - a list of changes that is lost is empty.
 */
export function mendRecords(pieces: readonly Salvaged[], facts: MendFacts): LogRecord[] {
  const slots: Slot[] = pieces.map((piece) =>
    piece.kind === 'record' ? [withKnownLists(piece.record, facts)] : { ...piece, fill: [] },
  );
  const begun = new Map<
    number,
    { readonly opening: OpenRecord | RewindRecord; readonly at: number }
  >();
  const ended = new Set<number>();
  slots.forEach((slot, at) => {
    if (!Array.isArray(slot)) return;
    const [record] = slot;
    if (record === undefined || record.type === 'pruned') {
      if (at > 0) slot.pop();
    } else if (record.type === 'open' || record.type === 'rewind') {
      if (begun.has(record.step)) slot.pop();
      else begun.set(record.step, { opening: record, at });
    } else if (ended.has(record.step) || !fits(begun.get(record.step)?.opening, record)) {
      slot.pop();
    } else {
      ended.add(record.step);
      if (begun.has(record.step)) return;
      const place = lostBefore(slots, at, record.step);
      const turn = place === undefined || place.turn === 'unknown' ? '' : place.turn;
      const before = [...begun.values()].findLast(
        ({ opening: { type, step } }) => type === 'rewind' && step < record.step,
      );
      const undoes = before === undefined ? [] : [before.opening.step];
      const opening = openingOf(record, turn, undoes);
      begun.set(record.step, { opening, at });
      if (place === undefined) slot.unshift(opening);
      else place.fill.push(opening);
    }
  });
  for (const [step, { opening, at }] of begun) {
    if (ended.has(step)) continue;
    const place = lostAfter(slots, at, step);
    const isNewest = ![...begun.values()].some((other) => other.at > at);
    const canClose = opening.type === 'rewind' || facts.hasManifest(opening.manifest);
    if (canClose && place === undefined) continue;
    if (canClose && isNewest && opening.type === 'open') {
      // Whoever had it open may be alive and done with it.
      const slot = slots[at];
      if (Array.isArray(slot)) slot.splice(slot.indexOf(opening), 1, { ...opening, owner: NOBODY });
      continue;
    }
    const end = endOf(opening);
    if (place === undefined) slots.push([end]);
    else place.fill.push(end);
  }
  return slots.flatMap((slot) => (Array.isArray(slot) ? slot : slot.fill));
}

/** A place in the log: the record there with what had to be put before it, or a lost one and its like. */
type Slot = LogRecord[] | (Lost & { readonly fill: LogRecord[] });

type Lost = Extract<Salvaged, { kind: 'lost' }>;

function fits(
  opening: OpenRecord | RewindRecord | undefined,
  end: CloseRecord | RewoundRecord,
): boolean {
  return opening === undefined || (opening.type === 'open') === (end.type === 'close');
}

function lostBefore(slots: readonly Slot[], at: number, step: number): FreeSlot | undefined {
  const free = slots.slice(0, at).filter(isFree);
  return free.find((slot) => slot.step === step) ?? free.find((slot) => slot.step === 'unknown');
}

function lostAfter(slots: readonly Slot[], at: number, step: number): FreeSlot | undefined {
  const free = slots.slice(at + 1).filter(isFree);
  return free.find((slot) => slot.step === step) ?? free.find((slot) => slot.step === 'unknown');
}

type FreeSlot = Exclude<Slot, LogRecord[]>;

function isFree(slot: Slot): slot is FreeSlot {
  return !Array.isArray(slot) && slot.fill.length === 0;
}

function openingOf(
  end: CloseRecord | RewoundRecord,
  seemingTurn: string,
  undoes: number[],
): OpenRecord | RewindRecord {
  const { step, at } = end;
  const turn = seemingTurn === '' ? `lost-${step}` : seemingTurn;
  if (end.type === 'rewound') {
    const plan = { kind: 'inline' as const, changes: [] };
    const lost = { owner: null, turns: [], partial: false, whole: false, times: 'now' as const };
    return { type: 'rewind', step, kind: 'redo', at, turn, undoes, ...lost, plan };
  }
  return {
    type: 'open',
    step,
    turn,
    label: 'its opening was lost to damage',
    kind: 'hook',
    command: [],
    cwd: '.',
    at,
    owner: null,
    manifest: end.manifest,
    rules: { include: [], exclude: [], maxFile: 0 },
    control: 'lost',
    watcher: 'none',
  };
}

function endOf(opening: OpenRecord | RewindRecord): CloseRecord | RewoundRecord {
  const { step, at } = opening;
  if (opening.type === 'rewind') {
    const end = { type: 'rewound', step, at, recovered: true, complete: true } as const;
    return { ...end, changes: opening.plan, repositories: [] };
  }
  return {
    type: 'close',
    step,
    at,
    recovered: true,
    exitCode: null,
    changes: { kind: 'inline', changes: [] },
    manifest: opening.manifest,
    timeline: { complete: false, reason: LOST_CLOSE, watcher: 'none', events: null },
    unsettled: [],
    leftOut: [],
    warnings: [LOST_CLOSE],
    repositories: [],
    broken: [],
  };
}

/** A process that is not alive. */
const NOBODY: OpenRecord['owner'] = { pid: 0, start: 'lost', boot: 'lost' };

const LOST_CLOSE = 'the close of this step was lost to damage: what it changed is not known';
const LOST_CHANGES = 'the list of what this step changed was lost to damage';

function withKnownLists(record: LogRecord, { hasDetail }: MendFacts): LogRecord {
  const isLost = (ref: ChangesRef): boolean => ref.kind === 'detail' && !hasDetail(ref.sha256);
  switch (record.type) {
    case 'open':
    case 'pruned':
      return record;
    case 'rewind':
      return isLost(record.plan) ? { ...record, plan: { kind: 'inline', changes: [] } } : record;
    case 'rewound':
      return isLost(record.changes)
        ? { ...record, changes: { kind: 'inline', changes: [] } }
        : record;
    case 'close': {
      const { events } = record.timeline;
      const reason = 'the list of what was seen was lost to damage';
      const timeline =
        events === null || hasDetail(events)
          ? record.timeline
          : { ...record.timeline, complete: false, reason, events: null };
      if (!isLost(record.changes)) return { ...record, timeline };
      const warnings = [...record.warnings, LOST_CHANGES];
      return { ...record, timeline, warnings, changes: { kind: 'inline', changes: [] } };
    }
  }
}
