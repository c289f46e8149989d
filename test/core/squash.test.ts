import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Change } from '../../src/core/change.js';
import { betweenWords } from '../../src/core/foreign-words.js';
import { ABSENT, type Image, sameImage } from '../../src/core/image.js';
import { type RelPath, relPath } from '../../src/core/relpath.js';
import {
  compose,
  EMPTY_SQUASH,
  type Interval,
  type IntervalName,
  squash,
  squashOf,
} from '../../src/core/squash.js';

const owner = { kind: 'content', uid: 0, gid: 0 } as const;

const anyImage: fc.Arbitrary<Image> = fc.oneof(
  fc.constant(ABSENT),
  fc.constantFrom('a', 'b').map((letter) => ({
    ...owner,
    type: 'file' as const,
    sha256: letter.repeat(64),
    bytes: 1,
    mode: 0o644,
    mtimeNs: 0n,
    link: '',
    sparse: false,
  })),
  fc.constantFrom('x', 'y').map((target) => ({ ...owner, type: 'symlink' as const, target })),
  fc.constantFrom(0o700, 0o755).map((mode) => ({ ...owner, type: 'directory' as const, mode })),
  fc
    .constantFrom('', 's')
    .map((stamp) => ({ kind: 'skipped' as const, why: 'unreadable' as const, reason: 'r', stamp })),
);

const anyChange: fc.Arbitrary<Change> = fc.record({
  path: fc.constantFrom('a', 'a/b', 'c', 'd').map(relPath),
  before: anyImage,
  after: anyImage,
});

const anyName: fc.Arbitrary<IntervalName> = fc.record({
  kind: fc.constantFrom('step', 'rewind', 'redo'),
  turn: fc.constantFrom('t1', 't2', 't3'),
  step: fc.nat(9),
});

const anyInterval = fc
  .tuple(fc.uniqueArray(anyChange, { selector: ({ path }) => path }), anyName)
  .map(([changes, by]) => squashOf(changes, by));

test('squash is associative, so a turn may be made of steps in any grouping', () => {
  fc.assert(
    fc.property(anyInterval, anyInterval, anyInterval, (a, b, c) => {
      expect(compose(compose(a, b), c)).toEqual(compose(a, compose(b, c)));
    }),
    { numRuns: 2000 },
  );
});

test('squash has the empty interval as its neutral element', () => {
  fc.assert(
    fc.property(anyInterval, (a) => {
      expect(compose(EMPTY_SQUASH, a)).toEqual(a);
      expect(compose(a, EMPTY_SQUASH)).toEqual(a);
    }),
  );
});

test('the first capture of a path wins, and the last post-image', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(anyImage, anyImage), { minLength: 1 }), (images) => {
      const path = relPath('p');
      const all = squash(inTurn(images.map(([before, after]) => [{ path, before, after }]))).get(
        path,
      );
      expect(all).toMatchObject({
        before: images.at(0)?.[0],
        after: images.at(-1)?.[1],
        first: named(0),
        last: named(images.length - 1),
      });
    }),
  );
});

test('an edit of somebody else is named by the intervals that it lies between, and no other is', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(anyImage, anyImage), { minLength: 1 }), (images) => {
      const path = relPath('p');
      const all = squash(inTurn(images.map(([before, after]) => [{ path, before, after }]))).get(
        path,
      );
      // Told by a walk along the chain, not by composing.
      const edits = images.slice(1).flatMap(([found], i) => {
        const left = images[i]?.[1];
        return left === undefined || sameImage(left, found)
          ? []
          : [{ after: named(i), left, before: named(i + 1), found }];
      });
      expect(all?.foreign).toEqual(edits);
    }),
  );
});

test('the words for a foreign edit name turns, steps of one turn, and rewinds', () => {
  const name = (kind: IntervalName['kind'], turn: string, id: number): IntervalName => {
    return { kind, turn, step: id };
  };
  const pair = (after: IntervalName, before: IntervalName) => ({ after, before });
  const [t1, t3] = [name('step', 't1', 1), name('step', 't3', 3)];
  expect(betweenWords([pair(t1, t3)])).toBe('between turns t1 and t3');
  expect(betweenWords([pair(t1, name('step', 't1', 4))])).toBe('between steps 1 and 4 of turn t1');
  expect(betweenWords([pair(t1, name('rewind', 't3', 5)), pair(name('redo', 't2', 6), t3)])).toBe(
    'between turn t1 and the rewind of t3 and between the redo of t2 and turn t3',
  );
});

test('intervals that overlap are no strangers to each other, and the last to close has the last word', () => {
  const path = relPath('p');
  const [first, middle, last] = ['1', '2', '3'].map(
    (target): Image => ({ ...owner, type: 'symlink', target }),
  ) as [Image, Image, Image];
  const outer = {
    by: named(0),
    opened: 1,
    changes: [{ path, before: first, after: last }],
    carries: false,
  };
  const inner = {
    by: named(1),
    opened: 2,
    changes: [{ path, before: middle, after: middle }],
    carries: false,
  };
  for (const [closes, after] of [
    [[4, 3], last],
    [[3, 4], middle],
  ] as const) {
    const intervals = [
      { ...outer, closed: closes[0] },
      { ...inner, closed: closes[1] },
    ];
    expect(squash(intervals).get(path)).toMatchObject({ before: first, after, foreign: [] });
  }
});

test('a rewind carries on what was left, adds nothing of its own, and is passed over where it does not fit', () => {
  const [path, other] = [relPath('p'), relPath('q')];
  const link = (target: string): Image => ({ ...owner, type: 'symlink', target });
  const step = inTurn([[{ path, before: link('1'), after: link('2') }]]);
  const by = { kind: 'rewind', turn: 't0', step: 9 } as const;
  const rewind = (before: string, at: RelPath): Interval => ({
    by,
    opened: 10,
    closed: 11,
    changes: [{ path: at, before: link(before), after: link('1') }],
    carries: true,
  });
  const after = (interval: Interval): Image | undefined =>
    squash([...step, interval]).get(path)?.after;
  expect(after(rewind('2', path))).toEqual(link('1'));
  expect(after(rewind('9', path))).toEqual(link('2'));
  expect([...squash([...step, rewind('2', other)]).keys()]).toEqual([path]);
  // What comes after it starts from what it has left, or the edit lies between the two.
  const later = { by: named(12), opened: 12, closed: 13, carries: false };
  const from = (before: string) =>
    squash([
      ...step,
      rewind('2', path),
      { ...later, changes: [{ path, before: link(before), after: ABSENT }] },
    ]).get(path);
  expect(from('1')?.foreign).toEqual([]);
  expect(from('2')?.foreign).toEqual([
    { after: by, left: link('1'), before: named(12), found: link('2') },
  ]);
});

/** Intervals one after another. */
function inTurn(all: readonly (readonly Change[])[]): Interval[] {
  return all.map((changes, i) => {
    return { by: named(i), opened: 2 * i, closed: 2 * i + 1, changes, carries: false };
  });
}

function named(id: number): IntervalName {
  return { kind: 'step', turn: `t${id}`, step: id };
}
