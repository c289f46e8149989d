import fs from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { PackWriter, packPath } from '../../src/store/pack-writer.js';
import { Packs } from '../../src/store/packs.js';
import { sha256 } from '../support/scan.js';
import { temporary } from '../support/tree.js';

const none = () => false;

function write(directory: string, contents: readonly Uint8Array[]): PackWriter {
  const writer = new PackWriter(directory, none);
  for (const bytes of contents) writer.add(bytes);
  return writer;
}

test('every content comes back byte for byte, sealed or not, whole or in pieces', () => {
  const anyContents = fc.array(fc.uint8Array({ maxLength: 300 }), { minLength: 1, maxLength: 20 });
  fc.assert(
    fc.property(anyContents, fc.boolean(), (contents, sealed) => {
      const directory = fs.mkdtempSync(join(temporaryBase, 'p-'));
      const writer = write(directory, contents);
      const streamed = writer.stream();
      const long = Buffer.alloc(5_000_000, 7);
      streamed.write(long.subarray(0, 3_000_000));
      streamed.write(long.subarray(3_000_000));
      streamed.commit(sha256(long));
      const forgotten = writer.stream();
      forgotten.write(Buffer.from('half'));
      forgotten.abort();
      writer.add(Buffer.from('after the aborted one'));
      writer.sync();
      if (sealed) writer.close();
      const packs = new Packs(directory);
      for (const bytes of [...contents, long, Buffer.from('after the aborted one')]) {
        expect(packs.read(sha256(bytes)).equals(bytes)).toBe(true);
      }
      expect(packs.has(sha256('half'))).toBe(false);
      const pieces: Buffer[] = [];
      packs.copy(sha256(long), (piece) => pieces.push(Buffer.from(piece)));
      expect(Buffer.concat(pieces).equals(long)).toBe(true);
      packs.close();
    }),
    { numRuns: 20 },
  );
});

const temporaryBase = fs.mkdtempSync(join(fs.realpathSync(process.env.TMPDIR ?? '/tmp'), 'packs-'));
process.on('exit', () => {
  fs.rmSync(temporaryBase, { recursive: true, force: true });
});

test('a missing or damaged index is made up for by the records themselves', () => {
  for (const harm of ['remove', 'flip'] as const) {
    const directory = temporary();
    const contents = ['one', 'two', 'three'].map((text) => Buffer.from(text));
    write(directory, contents).close();
    const index = join(directory, '00000001.idx');
    if (harm === 'remove') fs.rmSync(index);
    else flip(index, 100);
    const packs = new Packs(directory);
    for (const bytes of contents) expect(packs.read(sha256(bytes)).equals(bytes)).toBe(true);
    packs.close();
  }
});

test('a torn last record of an unsealed pack is no content and hides no other', () => {
  const directory = temporary();
  write(directory, [Buffer.from('whole'), Buffer.alloc(1000, 1)]).sync();
  fs.truncateSync(packPath(directory, 1), fs.statSync(packPath(directory, 1)).size - 1);
  const packs = new Packs(directory);
  expect(packs.read(sha256('whole')).toString()).toBe('whole');
  expect(packs.has(sha256(Buffer.alloc(1000, 1)))).toBe(false);
  packs.close();
});

test('a flipped bit in a payload is found by the read, never handed out', () => {
  const directory = temporary();
  write(directory, [Buffer.from('precious')]).close();
  flip(packPath(directory, 1), 64 + 3);
  const packs = new Packs(directory);
  expect(() => packs.read(sha256('precious'))).toThrow(/its bytes changed/);
  packs.close();
});

test('two writers at once write two packs', () => {
  const directory = temporary();
  const [a, b] = [new PackWriter(directory, none), new PackWriter(directory, none)];
  const shas = [a.add(Buffer.from('a')), b.add(Buffer.from('b'))];
  a.sync();
  b.sync();
  expect(fs.readdirSync(directory).filter((name) => name.endsWith('.pack'))).toHaveLength(2);
  const packs = new Packs(directory);
  expect(shas.map((sha) => packs.read(sha).toString())).toEqual(['a', 'b']);
  packs.close();
});

function flip(path: string, at: number): void {
  const bytes = fs.readFileSync(path);
  bytes.writeUInt8(bytes.readUInt8(at) ^ 4, at);
  fs.writeFileSync(path, bytes);
}
