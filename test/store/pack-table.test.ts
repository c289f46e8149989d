import crypto from 'node:crypto';
import { expect, test } from 'vitest';
import { PackTable } from '../../src/store/pack-table.js';

const sha256 = (text: string): string => crypto.hash('sha256', text, 'hex');

test('finds what was put in and nothing else, and lists it in the order of the hashes', () => {
  const table = new PackTable();
  const known = Array.from({ length: 5000 }, (_, i) => sha256(`content ${i}`));
  for (const [i, hash] of known.entries()) table.set(hash, i * 1000, i);
  table.set(known[7] ?? '', 2 ** 45, 8);
  expect(table.count).toBe(5000);
  for (const [i, hash] of known.entries()) {
    const row = table.find(hash);
    expect([table.offset(row), table.share(row)]).toEqual(i === 7 ? [2 ** 45, 8] : [i * 1000, i]);
  }
  expect(table.find(sha256('another'))).toBe(-1);
  expect(hashesOf(table)).toEqual([...known].sort());
});

test('keeps apart what begins alike', () => {
  const table = new PackTable();
  const alike = ['f0', '00', '7f', '01'].map((end) => `${'ab'.repeat(31)}${end}`);
  for (const [i, hash] of alike.entries()) table.set(hash, i, 0);
  expect(alike.map((hash) => table.offset(table.find(hash)))).toEqual([0, 1, 2, 3]);
  expect(hashesOf(table)).toEqual([...alike].sort());
});

function hashesOf(table: PackTable): string[] {
  const bytes = Buffer.alloc(32);
  return [...table.inOrder()].map((row) => {
    table.copyHash(row, bytes, 0);
    return bytes.toString('hex');
  });
}
