import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { MAX_MERGE_BYTES, mergeText, type ThreeTexts } from '../../src/core/merge-text.js';
import { command, testWith } from '../support/machine.js';
import { temporary } from '../support/tree.js';

const lines = (...all: readonly string[]): string => all.map((line) => `${line}\n`).join('');

test('edits in different places are both in the result, byte for byte', () => {
  const base = lines('one', 'two', 'three', 'four', 'five');
  const ours = lines('ONE', 'two', 'three', 'four', 'five');
  const theirs = lines('one', 'two', 'three', 'four', 'FIVE', 'six');
  expect(mergeText({ base, ours, theirs })).toEqual({
    kind: 'clean',
    text: lines('ONE', 'two', 'three', 'four', 'FIVE', 'six'),
  });
});

test.each([
  ['the same line', { base: 'a\nb\nc\n', ours: 'a\nX\nc\n', theirs: 'a\nY\nc\n' }],
  ['lines that touch', { base: 'a\nb\nc\n', ours: 'X\nb\nc\n', theirs: 'a\nY\nc\n' }],
  ['the same place, both adding', { base: 'a\nb\n', ours: 'a\nX\nb\n', theirs: 'a\nY\nb\n' }],
  ['a line that the other took away', { base: 'a\nb\nc\n', ours: 'a\nc\n', theirs: 'a\nB\nc\n' }],
  ['the end of a last line', { base: 'a\nb', ours: 'a\nb\n', theirs: 'a\nB' }],
  ['all of a text without lines', { base: 'a', ours: 'b', theirs: 'c' }],
])('%s: no clean merge', (_, texts) => {
  expect(mergeText(texts)).toEqual({ kind: 'none', reason: 'both changed the same lines' });
});

test('carriage returns, a missing last newline and bytes that are no UTF-8 stay as they are', () => {
  const base = 'one\r\ntwo\r\nthree\r\nf\xfcr\xff\r\nlast';
  const ours = base.replace('one', 'ONE');
  const theirs = base.replace('last', 'last, and more');
  expect(mergeText({ base, ours, theirs })).toEqual({
    kind: 'clean',
    text: 'ONE\r\ntwo\r\nthree\r\nf\xfcr\xff\r\nlast, and more',
  });
  const crlf = theirs.replaceAll('\r\n', '\n');
  expect(mergeText({ base, ours, theirs: crlf }).kind).toBe('none');
});

test('binary and what is too large are not merged, and what repeats itself ends soon', () => {
  const texts = { base: 'a\n\0\nb\n', ours: 'A\n\0\nb\n', theirs: 'a\n\0\nB\n' };
  expect(mergeText(texts)).toEqual({ kind: 'none', reason: 'it is not text' });
  const large = `${'x'.repeat(99)}\n`.repeat(MAX_MERGE_BYTES / 100 + 1);
  expect(mergeText({ base: large, ours: `a\n${large}`, theirs: `${large}b\n` })).toEqual({
    kind: 'none',
    reason: 'it is too large to merge',
  });
  // Comparing these line by line would take minutes.
  const blank = '\n'.repeat(20_000);
  expect(
    mergeText({ base: `a\n${blank}z\n`, ours: `A\n${blank}z\n`, theirs: `a\n${blank}Z\n` }),
  ).toEqual({
    kind: 'none',
    reason: 'too much of it differs to merge',
  });
});

test('words that objects have by themselves are lines like any other', () => {
  const base = lines('__proto__', 'a', 'constructor', 'b', '0');
  const ours = lines('__proto__', 'a', 'constructor', 'b', '0', 'toString');
  const theirs = lines('hasOwnProperty', '__proto__', 'a', 'constructor', 'b', '0');
  expect(mergeText({ base, ours, theirs })).toEqual({
    kind: 'clean',
    text: lines('hasOwnProperty', '__proto__', 'a', 'constructor', 'b', '0', 'toString'),
  });
});

/** A text of lines that are all different, and two edits of it that never touch. */
const apart = fc
  .array(
    fc.record({
      by: fc.constantFrom('nobody', 'ours', 'theirs', 'both'),
      how: fc.constantFrom('change', 'remove', 'add'),
    }),
    { maxLength: 30 },
  )
  .map((edits) => {
    const texts = { base: '', ours: '', theirs: '', wanted: '' };
    edits.forEach(({ by, how }, i) => {
      const line = `line ${i}\n`;
      const edited = { change: `LINE ${i}\n`, remove: '', add: `${line}new ${i}\n` }[how];
      const is = (side: string): boolean => by === side || by === 'both';
      texts.base += line;
      texts.ours += is('ours') ? edited : line;
      texts.theirs += is('theirs') ? edited : line;
      texts.wanted += by === 'nobody' ? line : edited;
      // Two lines that nobody touches keep edits apart.
      for (const side of ['base', 'ours', 'theirs', 'wanted'] as const) {
        texts[side] += `between ${i}\nand ${i}\n`;
      }
    });
    return texts;
  });

test('edits that do not touch always merge, and to the text that has them all', () => {
  fc.assert(
    fc.property(apart, ({ wanted, ...texts }) => {
      expect(mergeText(texts)).toEqual({ kind: 'clean', text: wanted });
    }),
    { numRuns: 500 },
  );
});

const anyText = fc
  .array(fc.constantFrom('a\n', 'b\n', 'c\n', '\n', '}\n'), { maxLength: 8 })
  .map((all) => all.join(''));

test('one side that changed nothing gives the other, and the same change twice gives it once', () => {
  fc.assert(
    fc.property(anyText, anyText, (base, other) => {
      const clean = { kind: 'clean', text: other };
      expect(mergeText({ base, ours: base, theirs: other })).toEqual(clean);
      expect(mergeText({ base, ours: other, theirs: base })).toEqual(clean);
      expect(mergeText({ base, ours: other, theirs: other })).toEqual(clean);
    }),
    { numRuns: 500 },
  );
});

testWith(
  [command('git')],
  'what merges cleanly here merges in git to the same text, wherever each line is told from the others',
  async () => {
    const at = temporary('preimage-merge');
    let compared = 0;
    fc.assert(
      fc.property(fc.tuple(edited, edited), ([ours, theirs]) => {
        const texts = { base: NUMBERS.join(''), ours, theirs };
        const merged = mergeText(texts);
        if (merged.kind === 'none') return;
        expect(gitMerge(at, texts)).toEqual({ status: 0, text: merged.text });
        compared += 1;
      }),
      { numRuns: 150 },
    );
    expect(compared).toBeGreaterThan(10);
  },
);

const NUMBERS = Array.from({ length: 12 }, (_, i) => `${i}\n`);

/** Removes, changes and adds lines, so that none is there twice. */
const edited = fc
  .array(fc.constantFrom(...Array(12).fill('same'), 'change', 'remove', 'add'), {
    minLength: NUMBERS.length,
    maxLength: NUMBERS.length,
  })
  .chain((hows) => fc.nat(9).map((salt) => ({ hows, salt })))
  .map(({ hows, salt }) =>
    NUMBERS.map((line, i) => {
      if (hows[i] === 'remove') return '';
      if (hows[i] === 'change') return `changed ${salt} ${line}`;
      return hows[i] === 'add' ? `${line}added ${salt} ${line}` : line;
    }).join(''),
  );

function gitMerge(
  at: string,
  { base, ours, theirs }: ThreeTexts,
): { status: number | null; text: string } {
  const names = Object.entries({ ours, base, theirs }).map(([name, text]) => {
    writeFileSync(path.join(at, name), text, 'latin1');
    return name;
  });
  const { status, stdout } = spawnSync('git', ['merge-file', '-p', ...names], {
    cwd: at,
    encoding: 'latin1',
  });
  return { status, text: stdout };
}
