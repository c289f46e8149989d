import fc from 'fast-check';
import { expect, test } from 'vitest';
import { printable } from '../../src/core/printable.js';
import {
  comparePaths,
  fromText,
  isRelPath,
  joinPath,
  nameOf,
  parentOf,
  relPath,
  toText,
} from '../../src/core/relpath.js';

const anyName = fc
  .uint8Array({ minLength: 1, maxLength: 6 })
  .map((bytes) => Buffer.from(bytes).toString('latin1'))
  .filter((name) => !/[/\0]/.test(name) && name !== '.' && name !== '..');
const anyPath = fc.array(anyName, { minLength: 1, maxLength: 4 }).map((parts) => parts.join('/'));

test.each([
  ['../a'],
  ['a/../b'],
  ['/etc/passwd'],
  ['a//b'],
  ['a/'],
  ['./a'],
  ['a/.'],
  ['..'],
  ['a\0b'],
  ['\u4f60'],
])('%j is no path below a root', (bytes) => {
  expect(isRelPath(bytes)).toBe(false);
});

test('any bytes but NUL and slash make a name', () => {
  fc.assert(
    fc.property(anyPath, (path) => {
      expect(isRelPath(path)).toBe(true);
      const checked = relPath(path);
      expect(joinPath(parentOf(checked), nameOf(checked))).toBe(path);
    }),
  );
});

test('text goes to bytes and back; bytes that are no UTF-8 are said to be lossy', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (text) => {
      expect(toText(fromText(text))).toEqual({ text, lossy: false });
    }),
  );
  expect(toText('caf\xe9').lossy).toBe(true);
});

test('paths are ordered as a walk meets them: a directory, all in it, then what follows', () => {
  const order = ['a', 'a/b', 'a/b/c', 'a/z', 'a-b', 'a.txt', 'a0', 'b'].map(relPath);
  expect([...order].reverse().sort(comparePaths)).toEqual(order);
  fc.assert(
    fc.property(fc.array(anyPath.map(relPath)), (paths) => {
      const byParts = [...paths].sort((a, b) => {
        const [x, y] = [a.split('/'), b.split('/')];
        for (let i = 0; i < Math.min(x.length, y.length); i++) {
          const [p = '', q = ''] = [x[i], y[i]];
          if (p !== q) return p < q ? -1 : 1;
        }
        return x.length - y.length;
      });
      expect([...paths].sort(comparePaths)).toEqual(byParts);
    }),
  );
});

test('a printed name does nothing to a terminal and can be told from any other', () => {
  const cases = ['a\x1b[31mred', 'new\nline', '\u202egnp.exe', 'tab\t', 'bell\x07'];
  for (const name of cases) {
    expect(printable(fromText(name))).toMatch(/^"[^\p{Cc}\p{Cf}]*"$/u);
  }
  expect(printable('caf\xe9')).toBe('"caf\\xe9"');
  expect(printable(fromText('naïve/日本 🎉.txt'))).toBe('naïve/日本 🎉.txt');
  expect(printable('trailing ')).toBe('"trailing "');
  fc.assert(
    fc.property(anyPath, anyPath, (a, b) => {
      expect(printable(a) === printable(b)).toBe(a === b);
    }),
  );
});
