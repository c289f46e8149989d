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
};

/** Folds the log's records, oldest first; throws a RangeError on a record that fits nothing before it. */
export function foldHistory(records: readonly LogRecord[]): History {
  const steps = new Map<number, Step>();
  records.forEach((record, line) => {
    addRecord(steps, record, line);
  });
  const turns = new Map<string, { id: string; steps: WorkStep[] }>();
  for (const step of steps.values()) {
    if (step.kind !== 'work') continue;
    const turn = turns.get(step.open.turn) ?? { id: step.open.turn, steps: [] };
    turn.steps.push(step);
    turns.set(turn.id, turn);
  }
  return { steps: [...steps.values()], turns, ...foldRewinds(steps.values()) };
}

/** Gives where the changes of a closed step are; an open step has none yet. */
export function changesOf(step: Step): ChangesRef {
  return step.end.kind === 'closed' ? step.end.record.changes : NO_CHANGES;
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

/** What a rewind of a turn undoes, and what it must not take along. */
export type UndoSet = {
  /** Oldest first; the turn's own steps and all later ones. */
  readonly steps: readonly Step[];
  /** Turns undone that are not rewound yet, newest first. */
  readonly turns: readonly string[];
  /** Steps that overlap the turn: what they changed as well is a conflict. */
  readonly concurrent: readonly Step[];
};

/**
 * Chooses what a rewind of a turn takes along.
 *
 * A step that opened after the turn closed is later and goes along; one whose interval meets the
 * turn's is concurrent and stays. A rewind that lies between the turn's own steps goes along when it
 * undid only what is undone here anyway. Steps of the turn that are undone already are out.
 */
export function undoSet(history: History, turn: Turn): UndoSet {
  const own = turn.steps.filter((step) => !history.undone.has(step.id));
  const from = openedAt(own);
  const until = Math.max(...own.map(closedLine));
  const chosen = new Set<number>(own.map((step) => step.id));
  const concurrent: Step[] = [];
  for (const step of history.steps) {
    if (chosen.has(step.id) || closedLine(step) < from) continue;
    const later = step.opened > until;
    const ours = step.kind === 'rewind' && step.open.undoes.every((id) => chosen.has(id));
    if (later || (ours && step.opened > from)) chosen.add(step.id);
    else if (!history.undone.has(step.id)) concurrent.push(step);
  }
  const steps = history.steps.filter((step) => chosen.has(step.id));
  const turns = new Set<string>();
  for (const step of [...steps].reverse()) {
    if (step.kind === 'work' && !history.undone.has(step.id)) turns.add(step.open.turn);
  }
  return { steps, turns: [...turns], concurrent };
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

const NO_CHANGES: ChangesRef = { kind: 'inline', changes: [] };

function openedAt(steps: readonly Step[]): number {
  return Math.min(...steps.map((step) => step.opened));
}

function closedLine(step: Step): number {
  return step.end.kind === 'closed' ? step.end.closed : Number.POSITIVE_INFINITY;
}

function addRecord(steps: Map<number, Step>, record: LogRecord, line: number): void {
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
  let redoable: RewindStep[] = [];
  for (const step of steps) {
    if (step.kind !== 'rewind' || step.end.kind !== 'closed') continue;
    const { kind, undoes, partial } = step.open;
    const { complete } = step.end.record;
    if (kind === 'rewind') {
      if (changedSomething(step)) redoable.push(step);
      if (complete && !partial) for (const id of undoes) undone.add(id);
    } else if (complete) {
      const [taken] = undoes;
      redoable = redoable.filter((rewind) => {
        if (rewind.id !== taken) return true;
        for (const id of rewind.open.undoes) undone.delete(id);
        return false;
      });
    }
  }
  return { undone, redoable };
}
