import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Change } from '../../src/core/change.js';
import { betweenWords } from '../../src/core/foreign-words.js';
import { ABSENT, type Image, sameImage } from '../../src/core/image.js';
import { relPath } from '../../src/core/relpath.js';
import {
  compose,
  EMPTY_SQUASH,
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
  .record({
    by: anyName,
    changes: fc.uniqueArray(anyChange, { selector: ({ path }) => path }),
  })
  .map(squashOf);

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
      const all = squash(
        images.map(([before, after], i) => ({ by: step(i), changes: [{ path, before, after }] })),
      ).get(path);
      expect(all).toMatchObject({
        before: images.at(0)?.[0],
        after: images.at(-1)?.[1],
        first: step(0),
        last: step(images.length - 1),
      });
    }),
  );
});

test('an edit of somebody else is named by the intervals that it lies between, and no other is', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(anyImage, anyImage), { minLength: 1 }), (images) => {
      const path = relPath('p');
      const all = squash(
        images.map(([before, after], i) => ({ by: step(i), changes: [{ path, before, after }] })),
      ).get(path);
      // Told by a walk along the chain, not by composing.
      const edits = images.slice(1).flatMap(([found], i) => {
        const left = images[i]?.[1];
        return left === undefined || sameImage(left, found)
          ? []
          : [{ after: step(i), left, before: step(i + 1), found }];
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

function step(id: number): IntervalName {
  return { kind: 'step', turn: `t${id}`, step: id };
}
