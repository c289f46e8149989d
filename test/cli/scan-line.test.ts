import { expect, test } from 'vitest';
import { timeLeft } from '../../src/cli/pace.js';
import { ScanLine, type ScanProgress } from '../../src/cli/scan-line.js';

const MB = 1024 * 1024;
const NOTHING: ScanProgress = {
  entries: 0,
  files: 0,
  bytes: 0,
  expected: 'unknown',
  copied: 0,
  rest: 'unknown',
};

/** What the line says at each of the seconds for which a progress is given. */
function lines(told: readonly Partial<ScanProgress>[]): string[] {
  const line = new ScanLine();
  return told.map((part, second) => line.text({ ...NOTHING, ...part }, 1000 * second));
}

test('a first scan tells what it met and its rate, and makes nothing up about its end', () => {
  const told = [0, 1, 2, 3].map((i) => ({
    entries: 2000 * i,
    bytes: i * 30 * MB,
    copied: i * 30 * MB,
  }));
  expect(lines(told)).toEqual([
    '0 entries, 0 B looked at',
    '2,000 entries, 30 MB looked at, 30 MB/s',
    '4,000 entries, 60 MB looked at, 30 MB/s',
    '6,000 entries, 90 MB looked at, 30 MB/s',
  ]);
});

test('a later scan tells how much the last one met, and when it will be through', () => {
  const told = [0, 1, 2, 3].map((i) => ({ entries: 2000 * i, bytes: i * MB, expected: 20_000 }));
  expect(lines(told)).toEqual([
    '0 of 20,000 entries, 0 B looked at',
    '2,000 of 20,000 entries, 1 MB looked at',
    '4,000 of 20,000 entries, 2 MB looked at, 8 s left',
    '6,000 of 20,000 entries, 3 MB looked at, 7 s left',
  ]);
});

test('there is no estimate before a twentieth of it is done, nor where the tree has grown', () => {
  const slow = [0, 1, 2, 3].map((i) => ({ entries: 100 * i, expected: 20_000 }));
  expect(lines(slow).join()).not.toContain('left');
  const grown = [0, 1, 2, 3].map((i) => ({ entries: 1000 * i, expected: 2500 }));
  expect(lines(grown).at(-1)).toBe('3,000 entries, 0 B looked at');
});

test('copying with a budget tells the files, the rate and the time, never more than there is', () => {
  const copying = (ms: number) =>
    lines(
      [0, 1, 2, 3].map((i) => ({
        entries: 5000,
        copied: i * 100 * MB,
        rest: { files: 2000 - 100 * i, bytes: (1200 - 100 * i) * MB, ms: ms - 1000 * i },
      })),
    );
  expect(copying(60_000)).toEqual([
    '0 of 2,000 files copied, 0 B of 1.2 GB',
    '100 of 2,000 files copied, 100 MB of 1.2 GB, 100 MB/s',
    '200 of 2,000 files copied, 200 MB of 1.2 GB, 100 MB/s, 10 s left',
    '300 of 2,000 files copied, 300 MB of 1.2 GB, 100 MB/s, 10 s left',
  ]);
  expect(copying(5000).at(-1)).toMatch(/100 MB\/s, 2 s left$/);
});

test('a scan that hardly copies has no rate', () => {
  expect(lines([0, 1, 2].map((i) => ({ entries: i, copied: i * 1000 }))).at(-1)).not.toContain(
    '/s',
  );
});

test.each([
  [1, '1 s left'],
  [9001, '10 s left'],
  [12_000, '10 s left'],
  [13_000, '15 s left'],
  [57_000, '55 s left'],
  [58_000, '1 min left'],
  [61_000, '2 min left'],
  [3_900_000, '1 h 5 min left'],
])('%d ms are told as %s', (ms, text) => {
  expect(timeLeft(ms)).toBe(text);
});
