import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Change } from '../../src/core/change.js';
import { ABSENT, type Image } from '../../src/core/image.js';
import { type RelPath, relPath } from '../../src/core/relpath.js';
import { compose, EMPTY_SQUASH, type Interval, squash, squashOf } from '../../src/core/squash.js';

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

const anyInterval = fc.uniqueArray(anyChange, { selector: ({ path }) => path }).map(squashOf);

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
      expect(all?.before).toEqual(images.at(0)?.[0]);
      expect(all?.after).toEqual(images.at(-1)?.[1]);
    }),
  );
});

test('an interval that does not start where the one before ended is marked as foreign', () => {
  const path = relPath('p');
  const absent = ABSENT;
  const link: Image = { ...owner, type: 'symlink', target: 'x' };
  const other: Image = { ...owner, type: 'symlink', target: 'y' };
  const chained = squash(
    inTurn([[{ path, before: absent, after: link }], [{ path, before: link, after: absent }]]),
  );
  const broken = squash(
    inTurn([[{ path, before: absent, after: link }], [{ path, before: other, after: absent }]]),
  );
  expect(chained.get(path)?.foreign).toBe(false);
  expect(broken.get(path)?.foreign).toBe(true);
});

test('intervals that overlap are no strangers to each other, and the last to close has the last word', () => {
  const path = relPath('p');
  const [first, middle, last] = ['1', '2', '3'].map(
    (target): Image => ({ ...owner, type: 'symlink', target }),
  ) as [Image, Image, Image];
  const outer = { opened: 1, changes: [{ path, before: first, after: last }], carries: false };
  const inner = { opened: 2, changes: [{ path, before: middle, after: middle }], carries: false };
  for (const [closes, after] of [
    [[4, 3], last],
    [[3, 4], middle],
  ] as const) {
    const intervals = [
      { ...outer, closed: closes[0] },
      { ...inner, closed: closes[1] },
    ];
    expect(squash(intervals).get(path)).toEqual({ path, before: first, after, foreign: false });
  }
});

test('a rewind carries on what was left, adds nothing of its own, and is passed over where it does not fit', () => {
  const [path, other] = [relPath('p'), relPath('q')];
  const link = (target: string): Image => ({ ...owner, type: 'symlink', target });
  const step = inTurn([[{ path, before: link('1'), after: link('2') }]]);
  const rewind = (before: string, at: RelPath): Interval => ({
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
});

/** Intervals one after another. */
function inTurn(all: readonly (readonly Change[])[]): Interval[] {
  return all.map((changes, i) => ({ opened: 2 * i, closed: 2 * i + 1, changes, carries: false }));
}
