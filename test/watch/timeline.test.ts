import fc from 'fast-check';
import { expect, test } from 'vitest';
import { judgeTimeline, MAX_EVENTS, type TimelineEvidence } from '../../src/watch/timeline.js';

const WHOLE: TimelineEvidence = {
  watcher: { kind: 'watched', backend: 'parcel' },
  ready: true,
  troubles: [],
  cookieSeen: true,
  eventCount: MAX_EVENTS,
  uncovered: [],
};

test('a timeline against which nothing speaks is complete', () => {
  expect(judgeTimeline(WHOLE)).toEqual({ complete: true });
});

test.each<[string, Partial<TimelineEvidence>, RegExp]>([
  ['nothing watched', { watcher: { kind: 'scan-only', reason: 'no binary' } }, /no binary/],
  ['the host died', { watcher: { kind: 'died', reason: 'SIGKILL' } }, /ended early: SIGKILL/],
  ['the watcher was late', { ready: false }, /before the watcher was ready/],
  ['there was trouble', { troubles: ['The root was deleted.', 'x'] }, /^The root was deleted$/],
  ['the cookie did not come', { cookieSeen: false }, /did not answer/],
  ['there were too many events', { eventCount: MAX_EVENTS + 1 }, /10001 events/],
  ['no event tells of a change', { uncovered: ['a/b'] }, /no event tells of: a\/b$/],
  ['no event tells of changes', { uncovered: ['a', 'b', 'c'] }, /: a and 2 more$/],
  ['no event tells of the root', { uncovered: [''] }, /: \.$/],
])('a timeline is incomplete when %s', (_, change, reason) => {
  expect(judgeTimeline({ ...WHOLE, ...change })).toEqual({
    complete: false,
    reason: expect.stringMatching(reason),
  });
});

test('a reason never carries a control character from a name or an error', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      for (const change of [{ uncovered: [text] }, { troubles: [text] }]) {
        const judgement = judgeTimeline({ ...WHOLE, ...change });
        expect(judgement.complete ? '' : judgement.reason).not.toMatch(/\p{Cc}|\p{Cf}/u);
      }
    }),
  );
});
