import type { PrunedRecord } from './pruned-record.js';
import type {
  ChangesRef,
  CloseRecord,
  LogRecord,
  OpenRecord,
  RewindRecord,
  RewoundRecord,
} from './records.js';
import type { IntervalName } from './squash.js';

/** A step as the log tells it; `opened` and `closed` number the lines, so they order all intervals. */
export type Step = WorkStep | RewindStep;

/** A command, a pair of hooks, a session of the library or a watch without a command. */
export type WorkStep = {
  readonly kind: 'work';
  readonly id: number;
  readonly opened: number;
  readonly open: OpenRecord;
  readonly end: { readonly kind: 'open' } | Closed<CloseRecord>;
};

/** A rewind or a redo. */
export type RewindStep = {
  readonly kind: 'rewind';
  readonly id: number;
  readonly opened: number;
  readonly open: RewindRecord;
  readonly end: { readonly kind: 'open' } | Closed<RewoundRecord>;
};

type Closed<Record> = {
  readonly kind: 'closed';
  readonly closed: number;
  readonly record: Record;
};

/** A turn: the steps under one id, oldest first, at least one. */
export type Turn = { readonly id: string; readonly steps: readonly WorkStep[] };

/** The log, folded. */
export type History = {
  readonly steps: readonly Step[];
  readonly turns: ReadonlyMap<string, Turn>;
  /** Steps that a rewind has undone and no redo has brought back. */
  readonly undone: ReadonlySet<number>;
  /** Finished rewinds that a redo can take back, oldest first. */
  readonly redoable: readonly RewindStep[];
  /** What is known of steps that were dropped. */
  readonly pruned: Pick<PrunedRecord, 'lastStep' | 'lastTurn' | 'turns' | 'steps'>;
};

/** Folds the log's records, oldest first; throws a RangeError on a record that fits nothing before it. */
export function foldHistory(records: readonly LogRecord[]): History {
  const steps = new Map<number, Step>();
  let pruned: History['pruned'] = NOTHING_PRUNED;
  records.forEach((record, line) => {
    if (record.type !== 'pruned') addRecord(steps, record, line);
    else if (line === 0) pruned = record;
    else throw new RangeError('lines were dropped in its middle');
  });
  const turns = new Map<string, { id: string; steps: WorkStep[] }>();
  for (const step of steps.values()) {
    if (step.kind !== 'work') continue;
    const turn = turns.get(step.open.turn) ?? { id: step.open.turn, steps: [] };
    turn.steps.push(step);
    turns.set(turn.id, turn);
  }
  return { steps: [...steps.values()], turns, ...foldRewinds(steps.values()), pruned };
}

/** Gives where the changes of a closed step are; an open step has none yet. */
export function changesOf(step: Step): ChangesRef {
  return step.end.kind === 'closed' ? step.end.record.changes : NO_CHANGES;
}

/** Gives the steps that opened at a line or after it, oldest first. */
export function stepsSince({ steps }: History, line: number): Step[] {
  return steps.filter(({ opened }) => opened >= line).sort((a, b) => a.opened - b.opened);
}

/** Names a step for whoever reads what it changed. */
export function nameOfStep(step: Step): IntervalName {
  const { turn } = step.open;
  return { kind: step.kind === 'work' ? 'step' : step.open.kind, turn, step: step.id };
}

/** Reports whether all steps of a turn are undone. */
export function isRewound(history: History, turn: Turn): boolean {
  return turn.steps.every((step) => history.undone.has(step.id));
}

/** Lists turns by their first opening, newest first. */
export function newestFirst(history: History): Turn[] {
  return [...history.turns.values()].sort((a, b) => openedAt(b.steps) - openedAt(a.steps));
}

/** Lists the steps that are still open. */
export function openSteps(history: History): Step[] {
  return history.steps.filter((step) => step.end.kind === 'open');
}

/** Names the manifest of the workspace as it was last scanned. */
export function newestManifest(history: History): string | 'none' {
  let newest = -1;
  let id = 'none';
  for (const step of history.steps) {
    if (step.kind !== 'work') continue;
    const { end } = step;
    const line = end.kind === 'closed' ? end.closed : step.opened;
    if (line <= newest) continue;
    newest = line;
    id = end.kind === 'closed' ? end.record.manifest : step.open.manifest;
  }
  return id;
}

/** What a rewind of a turn undoes, and what it must not take along. */
export type UndoSet = {
  /** Steps that are not undone yet, of the turn itself and of later ones, oldest first. */
  readonly steps: readonly WorkStep[];
  /** Turns undone, newest first. */
  readonly turns: readonly string[];
  /** Steps of turns that overlap this one: what they changed as well is a conflict. */
  readonly concurrent: readonly WorkStep[];
  /** Rewinds and redos since: they carry on what the steps have left, and are not undone. */
  readonly rewinds: readonly RewindStep[];
};

/**
 * Chooses what a rewind of a turn, or of some of its steps, takes along.
 *
 * A turn that opened after this one closed is later and goes along; one that overlaps it is concurrent
 * and stays whole, also with what it did afterwards. Steps that are undone already are out.
 */
export function undoSet(history: History, turn: Turn): UndoSet {
  const { from, until } = spanOf(liveSteps(history, turn));
  const steps: WorkStep[] = [];
  const turns: string[] = [];
  const concurrent: WorkStep[] = [];
  for (const other of newestFirst(history)) {
    const live = liveSteps(history, other);
    const span = spanOf(live);
    if (live.length === 0 || span.until < from) continue;
    if (other.id === turn.id) {
      const own = new Set(turn.steps.map(({ id }) => id));
      for (const step of live) if (own.has(step.id)) steps.push(step);
      turns.push(other.id);
    } else if (span.from > until) {
      for (const step of live) steps.push(step);
      turns.push(other.id);
    } else {
      for (const step of live) if (closedLine(step) > from) concurrent.push(step);
    }
  }
  const rewinds = history.steps.filter(
    (step): step is RewindStep => step.kind === 'rewind' && step.opened > from,
  );
  return { steps: steps.sort((a, b) => a.opened - b.opened), turns, concurrent, rewinds };
}

/** Gives the lines of the log between which a step was open. */
export function linesOf(step: Step): { readonly opened: number; readonly closed: number } {
  return { opened: step.opened, closed: closedLine(step) };
}

/** Lists the steps of other turns whose interval meets one of this turn's steps. */
export function overlapping(history: History, turn: Turn): WorkStep[] {
  return history.steps.filter(
    (step): step is WorkStep =>
      step.kind === 'work' &&
      step.open.turn !== turn.id &&
      turn.steps.some((own) => step.opened < closedLine(own) && own.opened < closedLine(step)),
  );
}

function liveSteps(history: History, turn: Turn): WorkStep[] {
  return turn.steps.filter((step) => !history.undone.has(step.id));
}

function spanOf(steps: readonly Step[]): { readonly from: number; readonly until: number } {
  return { from: openedAt(steps), until: Math.max(...steps.map(closedLine)) };
}

/** Gives the line of the first opening among steps. */
export function openedAt(steps: readonly Step[]): number {
  return Math.min(...steps.map((step) => step.opened));
}

/** Gives the line that closes a step; infinity for one that is open. */
export function closedLine(step: Step): number {
  return step.end.kind === 'closed' ? step.end.closed : Number.POSITIVE_INFINITY;
}

const NO_CHANGES: ChangesRef = { kind: 'inline', changes: [] };
const NOTHING_PRUNED = { lastStep: 0, lastTurn: 0, turns: 0, steps: 0 };

type StepRecord = Exclude<LogRecord, PrunedRecord>;

function addRecord(steps: Map<number, Step>, record: StepRecord, line: number): void {
  const known = steps.get(record.step);
  const end = { kind: 'open' } as const;
  switch (record.type) {
    case 'open':
      if (known !== undefined) throw new RangeError(`step ${record.step} opens twice`);
      steps.set(record.step, { kind: 'work', id: record.step, opened: line, open: record, end });
      return;
    case 'rewind':
      if (known !== undefined) throw new RangeError(`step ${record.step} opens twice`);
      steps.set(record.step, { kind: 'rewind', id: record.step, opened: line, open: record, end });
      return;
    case 'close':
      if (known?.kind !== 'work' || known.end.kind !== 'open') throw notOpen(record.step);
      steps.set(record.step, { ...known, end: { kind: 'closed', closed: line, record } });
      return;
    case 'rewound':
      if (known?.kind !== 'rewind' || known.end.kind !== 'open') throw notOpen(record.step);
      steps.set(record.step, { ...known, end: { kind: 'closed', closed: line, record } });
      return;
  }
}

function notOpen(step: number): RangeError {
  return new RangeError(`step ${step} closes but is not open`);
}

/** A rewind that left everything alone has nothing to take back. */
function changedSomething(step: RewindStep): boolean {
  const changes = changesOf(step);
  return changes.kind === 'detail' || changes.changes.length > 0;
}

function foldRewinds(steps: Iterable<Step>): Pick<History, 'undone' | 'redoable'> {
  const undone = new Set<number>();
  const rewinds = new Map<number, RewindStep>();
  let redoable: RewindStep[] = [];
  for (const step of steps) {
    if (step.kind !== 'rewind' || step.end.kind !== 'closed') continue;
    const { kind, undoes, partial } = step.open;
    const { complete } = step.end.record;
    if (kind === 'rewind') {
      rewinds.set(step.id, step);
      if (changedSomething(step)) redoable.push(step);
      if (complete && !partial) for (const id of undoes) undone.add(id);
      continue;
    }
    const [taken = 0] = undoes;
    if (complete && !partial) redoable = redoable.filter(({ id }) => id !== taken);
    if (!complete && !changedSomething(step)) continue;
    // Whichever rewind has finished the undoing (one that found nothing left has changed nothing
    // and is never taken back itself): something of what this one undid is there again.
    for (const id of rewinds.get(taken)?.open.undoes ?? []) undone.delete(id);
  }
  return { undone, redoable };
}
