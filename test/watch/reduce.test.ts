import fc from 'fast-check';
import { expect, test } from 'vitest';
import { coveredBy, reduceEvents } from '../../src/watch/reduce.js';
import type { WatchEvent, WatchEventKind } from '../../src/watch/watcher.js';

const KINDS = ['create', 'update', 'delete'] as const;

function event(kind: WatchEventKind, path: string, at = 0): WatchEvent {
  return { kind, path, at };
}

const path = fc
  .array(fc.constantFrom('a', 'b', 'ab', '__proto__'), { maxLength: 4 })
  .map((names) => names.join('/'));
const events = fc.array(fc.record({ kind: fc.constantFrom(...KINDS), path, at: fc.nat() }));

test('a file that came and went has one history that says so', () => {
  expect(
    reduceEvents([
      event('create', 'tmp', 1),
      event('update', 'other', 2),
      event('update', 'tmp', 3),
      event('delete', 'tmp', 4),
    ]),
  ).toEqual([
    {
      path: 'tmp',
      first: 'create',
      last: 'delete',
      firstAt: 1,
      lastAt: 4,
      count: 3,
      cameAndWent: true,
    },
    {
      path: 'other',
      first: 'update',
      last: 'update',
      firstAt: 2,
      lastAt: 2,
      count: 1,
      cameAndWent: false,
    },
  ]);
});

test('a file that went and came back did not come and go', () => {
  const [history] = reduceEvents([event('delete', 'a'), event('create', 'a')]);
  expect(history).toMatchObject({ first: 'delete', last: 'create', cameAndWent: false });
});

test('no event is lost or counted twice by the reduction', () => {
  fc.assert(
    fc.property(events, (all) => {
      const histories = reduceEvents(all);
      expect(new Set(histories.map((history) => history.path)).size).toBe(histories.length);
      for (const history of histories) {
        const own = all.filter((one) => one.path === history.path);
        expect(history.count).toBe(own.length);
        expect(history.first).toBe(own[0]?.kind);
        expect(history.last).toBe(own.at(-1)?.kind);
      }
      expect(histories.reduce((sum, { count }) => sum + count, 0)).toBe(all.length);
    }),
  );
});

test('a change is covered by an event of its path or by a directory above that came or went', () => {
  const covered = coveredBy([
    event('update', 'src/a.ts'),
    event('create', 'new'),
    event('delete', 'old/dir'),
    event('update', 'mode'),
  ]);
  expect(['src/a.ts', 'new', 'new/deep/file', 'old/dir/file'].filter((p) => !covered(p))).toEqual(
    [],
  );
  expect(['src', 'src/b.ts', 'newer', 'old', 'old/other', 'mode/file', ''].filter(covered)).toEqual(
    [],
  );
});

test('a new root covers everything', () => {
  expect(coveredBy([event('delete', '')])('any/path')).toBe(true);
});

test('cover is exactly what a walk over all events finds', () => {
  fc.assert(
    fc.property(events, path, (all, asked) => {
      const expected = all.some(
        ({ kind, path: told }) =>
          told === asked ||
          (kind !== 'update' && asked !== '' && (told === '' || asked.startsWith(`${told}/`))),
      );
      expect(coveredBy(all)(asked)).toBe(expected);
    }),
  );
});
