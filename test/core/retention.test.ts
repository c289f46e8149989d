import fc from 'fast-check';
import { expect, test } from 'vitest';
import { foldHistory, newestFirst, undoSet } from '../../src/core/history.js';
import type { LogRecord } from '../../src/core/records.js';
import { chooseCut, KEEP_ALL, prunedRecord } from '../../src/core/retention.js';

const AT = '2026-11-30T10:00:00.000Z';
const HASH = 'a'.repeat(64);

/** What can happen next in a log; `pick` chooses among the turns, or among the steps that are open. */
const anyEvent = fc.record({
  kind: fc.constantFrom('open', 'open', 'close', 'close', 'close', 'rewind', 'redo'),
  pick: fc.nat(5),
});

test('what a rewind of a turn that stays takes along is the same after any prune', () => {
  fc.assert(
    fc.property(
      fc.array(fc.array(anyEvent, { maxLength: 12 }), { minLength: 1, maxLength: 4 }),
      fc.integer({ min: 1, max: 5 }),
      (parts, keep) => {
        let records: LogRecord[] = [];
        for (const events of parts) {
          for (const event of events) add(records, event);
          const before = foldHistory(records);
          const facts = { now: 0, sizeFrom: () => 0 };
          const cut = chooseCut(before, { ...KEEP_ALL, keep }, facts);
          if (cut.steps === 0) continue;
          const first = prunedRecord(before, { cut, head: HASH, at: AT, earlier: [] });
          records = [first, ...records.slice(cut.line).filter(({ type }) => type !== 'pruned')];
          const after = foldHistory(records);
          const kept = newestFirst(after).map(({ id }) => id);
          const all = newestFirst(before).map(({ id }) => id);
          expect(kept).toEqual(all.slice(0, all.length - cut.turns.length));
          expect(kept.length).toBeGreaterThanOrEqual(Math.min(keep, all.length));
          for (const id of kept) {
            const [was, is] = [before.turns.get(id), after.turns.get(id)];
            if (was === undefined || is === undefined) throw new Error('a turn is gone');
            expect(is.steps.map((step) => step.id)).toEqual(was.steps.map((step) => step.id));
            if (is.steps.every((step) => after.undone.has(step.id))) continue;
            const [told, now] = [undoSet(before, was), undoSet(after, is)];
            expect(now.steps.map((step) => step.id)).toEqual(told.steps.map((step) => step.id));
            expect(now.concurrent.map((step) => step.id)).toEqual(
              told.concurrent.map((step) => step.id),
            );
            expect(now.turns).toEqual(told.turns);
          }
          const left = new Set(after.steps.map(({ id }) => id));
          expect([...after.undone].filter((id) => left.has(id))).toEqual(
            [...before.undone].filter((id) => left.has(id)),
          );
          const ids = before.steps.map(({ id }) => id);
          expect(after.pruned.lastStep).toBe(
            Math.max(0, ...ids.filter((id) => !left.has(id)), before.pruned.lastStep),
          );
        }
      },
    ),
    { numRuns: 500 },
  );
});

function add(records: LogRecord[], event: { kind: string; pick: number }): void {
  const history = foldHistory(records);
  const step = Math.max(history.pruned.lastStep, 0, ...history.steps.map(({ id }) => id)) + 1;
  const open = history.steps.filter(({ end }) => end.kind === 'open');
  if (event.kind === 'open') {
    records.push({ ...OPEN, step, turn: `t${event.pick}` });
  } else if (event.kind === 'close') {
    const chosen = open[event.pick % Math.max(1, open.length)];
    if (chosen !== undefined) records.push({ ...CLOSE, step: chosen.id });
  } else if (open.length === 0 && history.turns.size > 0) {
    // A rewind begins only while nothing is open, and ends before anything opens.
    const [first] = newestFirst(history).filter(
      ({ steps }) => !steps.every(({ id }) => history.undone.has(id)),
    );
    const last = history.redoable.at(-1);
    if (event.kind === 'rewind' && first !== undefined) {
      const { steps, turns } = undoSet(history, first);
      const undoes = steps.map(({ id }) => id);
      records.push({ ...REWIND, step, turn: first.id, turns: [...turns], undoes });
      records.push({ ...REWOUND, step });
    } else if (event.kind === 'redo' && last !== undefined) {
      records.push({ ...REWIND, kind: 'redo', step, turn: last.open.turn, undoes: [last.id] });
      records.push({ ...REWOUND, step });
    }
  }
}

const CHANGED = {
  kind: 'inline' as const,
  changes: [
    {
      path: 'a' as never,
      before: { kind: 'absent' as const },
      after: { kind: 'content' as const, type: 'fifo' as const, mode: 0, uid: 0, gid: 0 },
    },
  ],
};

const OPEN = {
  type: 'open' as const,
  label: '',
  kind: 'hook' as const,
  command: [],
  cwd: '.',
  at: AT,
  owner: null,
  manifest: HASH,
  rules: { include: [], exclude: [], maxFile: 0 },
  control: 'c',
  watcher: 'none',
};

const CLOSE = {
  type: 'close' as const,
  at: AT,
  recovered: false,
  exitCode: null,
  changes: CHANGED,
  manifest: HASH,
  timeline: { complete: true, reason: '', watcher: 'none', events: null },
  unsettled: [],
  leftOut: [],
  warnings: [],
  repositories: [],
  broken: [],
};

const REWIND = {
  type: 'rewind' as const,
  kind: 'rewind' as const,
  at: AT,
  owner: null,
  turns: [],
  undoes: [],
  partial: false,
  whole: true,
  times: 'now' as const,
  plan: CHANGED,
};

const REWOUND = {
  type: 'rewound' as const,
  at: AT,
  recovered: false,
  complete: true,
  changes: CHANGED,
  repositories: [],
};
