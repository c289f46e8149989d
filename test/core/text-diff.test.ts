import fc from 'fast-check';
import { expect, test } from 'vitest';
import { base85Lines } from '../../src/core/patch/base85.js';
import { diffTexts, type Hunk } from '../../src/core/patch/text-diff.js';

const MUCH = { bytes: 1_000_000, edits: 1000 };

/** Texts of few different lines, so that they share many; some end without LF. */
const text = fc
  .tuple(fc.array(fc.constantFrom('a', 'b', 'c', '', 'd\r'), { maxLength: 40 }), fc.boolean())
  .map(([lines, end]) => lines.join('\n') + (end && lines.length > 0 ? '\n' : ''));

test('the hunks of any two texts make the one out of the other, however little work they may be', () => {
  fc.assert(
    fc.property(text, text, fc.constantFrom(0, 1, 3, 1000), (before, after, edits) => {
      const diff = diffTexts(Buffer.from(before), Buffer.from(after), { ...MUCH, edits });
      if (diff.kind !== 'hunks') throw new Error('too large');
      expect(applied(before, diff.hunks)).toBe(after);
      const lines = diff.hunks.flatMap((hunk) => hunk.lines);
      expect(diff.added).toBe(lines.filter((line) => line.startsWith('+')).length);
      expect(diff.removed).toBe(lines.filter((line) => line.startsWith('-')).length);
      expect(diff.hunks.length === 0).toBe(before === after);
    }),
    { numRuns: 2000 },
  );
});

test('a hunk has three lines around what differs, and hunks that would meet are one', () => {
  const before = Array.from({ length: 30 }, (_, i) => `${i}\n`);
  const after = before.map((line, i) => ([5, 12, 22].includes(i) ? 'x\n' : line));
  const diff = diffTexts(Buffer.from(before.join('')), Buffer.from(after.join('')), MUCH);
  expect(diff).toMatchObject({
    hunks: [
      { oldStart: 3, oldLines: 14, newStart: 3, newLines: 14 },
      { oldStart: 20, oldLines: 7, newStart: 20, newLines: 7 },
    ],
    added: 3,
    removed: 3,
  });
});

test('only what differs counts for the limit, and one byte more is too large', () => {
  const same = 'same line\n'.repeat(10_000);
  const of = (middle: string): Buffer => Buffer.from(`${same}${middle}${same}`);
  const limits = { bytes: 400, edits: 1000 };
  expect(diffTexts(of('a\n'), of('b\n'), limits)).toMatchObject({ kind: 'hunks', added: 1 });
  const far = diffTexts(of('a\n'), of(`${'b'.repeat(400)}\n`), limits);
  expect(far).toMatchObject({ kind: 'too-large' });
});

test('base 85 is the one of git', () => {
  expect(base85Lines(Buffer.from([1]))).toEqual(['A0RR91']);
  expect(base85Lines(Buffer.alloc(4, 255))).toEqual(['D|NsC0']);
  const lines = base85Lines(Buffer.alloc(53));
  expect(lines).toEqual([`z${'0'.repeat(65)}`, 'A00000']);
});

/** Applies hunks as `patch` does, and checks what they say of the old text. */
function applied(before: string, hunks: readonly Hunk[]): string {
  const old = before === '' ? [] : before.replace(/\n$/, '').split('\n');
  const oldEnds = before.endsWith('\n');
  const out: string[] = [];
  let at = 0;
  let ends = old.length === 0 || oldEnds;
  for (const { oldStart, oldLines, newStart, newLines, lines } of hunks) {
    const from = oldLines === 0 ? oldStart : oldStart - 1;
    out.push(...old.slice(at, from));
    at = from;
    expect(newLines === 0 ? newStart : newStart - 1).toBe(out.length);
    const taken = { old: 0, now: 0 };
    let last = '';
    for (const line of lines) {
      const [mark, body] = [line.slice(0, 1), line.slice(1)];
      if (mark === '\\') {
        if (last !== '-') ends = false;
        if (last !== '+') expect({ at, oldEnds }).toEqual({ at: old.length, oldEnds: false });
        continue;
      }
      last = mark;
      if (mark !== '+') expect(old[at++]).toBe(body);
      if (mark !== '+') taken.old += 1;
      if (mark !== '-') {
        out.push(body);
        taken.now += 1;
        ends = true;
      }
    }
    expect(taken).toEqual({ old: oldLines, now: newLines });
  }
  if (at < old.length) ends = oldEnds;
  out.push(...old.slice(at));
  return out.length === 0 ? '' : out.join('\n') + (ends ? '\n' : '');
}
