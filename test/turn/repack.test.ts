import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { verifyStore } from '../../src/index.js';
import { PackWriter } from '../../src/store/pack-writer.js';
import { Packs } from '../../src/store/packs.js';
import { Repacker } from '../../src/store/repacker.js';
import { type Snapshot, temporary } from '../support/tree.js';
import { type Bench, bench, diskUse, filesBelow } from '../support/turns.js';

const MB = 1_000_000;

test('a line appended ten times to 2 MB of noise takes 2.3 MB, and every turn rewinds exactly', async () => {
  const at = bench({ 'log.bin': crypto.randomBytes(2 * MB) });
  const states = await turns(at, 10, (i) => {
    fs.appendFileSync(path.join(at.root, 'log.bin'), `line ${i}\n`);
  });
  expect(diskUse(at.store)).toBeGreaterThan(20 * MB);
  expect(at.with((store) => store.prune())).toMatchObject({ turns: [], notes: [] });
  expect(diskUse(at.store)).toBeLessThan(2.3 * MB);
  await expectAllBack(at, states);
});

test('what is inserted in the middle of a large file costs what was inserted', async () => {
  const noise = crypto.randomBytes(MB);
  const at = bench({ 'a.bin': noise });
  const states = await turns(at, 5, (i) => {
    const bytes = fs.readFileSync(path.join(at.root, 'a.bin'));
    const middle = bytes.length / 2;
    at.write({
      'a.bin': Buffer.concat([
        bytes.subarray(0, middle),
        crypto.randomBytes(1000 * (i + 1)),
        bytes.subarray(middle),
      ]),
    });
  });
  at.with((store) => store.prune());
  expect(diskUse(at.store)).toBeLessThan(1.1 * MB);
  await expectAllBack(at, states);
});

test('ten identical rewrites, there and back, are two images', async () => {
  const images = [crypto.randomBytes(MB / 2), crypto.randomBytes(MB / 2)];
  const at = bench({ 'a.bin': images[0] ?? '' });
  const states = await turns(at, 10, (i) => at.write({ 'a.bin': images[(i + 1) % 2] ?? '' }));
  at.with((store) => store.prune());
  expect(diskUse(at.store)).toBeLessThan(1.1 * MB);
  await expectAllBack(at, states);
});

test('sources take less than a third, and each file of them is read back', async () => {
  const at = bench();
  // The sources that are at hand: what the project is built with.
  for (const name of ['valibot', 'fast-check', 'vite', 'commander']) {
    const from = fileURLToPath(new URL(`../../node_modules/${name}`, import.meta.url));
    fs.cpSync(from, path.join(at.root, name), { recursive: true, dereference: true });
  }
  const bytes = filesBelow(at.root).reduce((sum, file) => sum + fs.statSync(file).size, 0);
  const states = await turns(at, 1, () => {
    for (const name of fs.readdirSync(at.root))
      fs.rmSync(path.join(at.root, name), { recursive: true });
  });
  at.with((store) => store.prune());
  // 121 MB in 38.
  expect(packsOf(at)).toBeLessThan((bytes * 38) / 121);
  await expectAllBack(at, states);
}, 60_000);

test('a store that was repacked is repacked again as turns come and go', async () => {
  const at = bench({ 'log.txt': lines(30_000), 'noise.bin': crypto.randomBytes(300_000) });
  const states: Snapshot[] = [];
  for (let round = 0; round < 6; round++) {
    states.push(
      ...(await turns(at, 3, (i) => {
        fs.appendFileSync(path.join(at.root, 'log.txt'), `round ${round}, ${i}\n`);
        at.write({ [`made-${round}-${i}.txt`]: lines(3000 + i) });
      })),
    );
    expect(at.with((store) => store.prune({ keep: 9 }))).toMatchObject({ notes: [] });
    expect(verifyStore(at)).toMatchObject({ whole: true, findings: [] });
  }
  expect(at.ids()).toHaveLength(9);
  await expectAllBack(at, states.slice(-9), 10);
  expect(diskUse(at.store)).toBeLessThan(1.2 * MB);
});

test('without its index a repacked pack gives everything, and verify makes the index again', async () => {
  const at = bench({ 'a.txt': lines(20_000), 'b.txt': lines(9000), 'c.txt': lines(5000) });
  const states = await turns(at, 2, (i) => {
    fs.appendFileSync(path.join(at.root, 'a.txt'), `${i}`);
  });
  at.with((store) => store.prune());
  for (const file of filesBelow(path.join(at.store, 'packs'))) {
    if (file.endsWith('.idx')) fs.rmSync(file);
  }
  expect(verifyStore(at)).toMatchObject({ whole: true });
  expect(verifyStore(at)).toMatchObject({ whole: true, findings: [] });
  expect(at.with((store) => store.prune())).toMatchObject({ notes: [] });
  await expectAllBack(at, states);
});

test('turns that leave much behind are repacked by the closes that come after them', async () => {
  const at = bench({ 'a.bin': crypto.randomBytes(8 * MB) });
  const states = await turns(at, 10, (i) => {
    fs.appendFileSync(path.join(at.root, 'a.bin'), `line ${i}\n`);
  });
  expect(diskUse(at.store)).toBeLessThan(60 * MB);
  await expectAllBack(at, states);
}, 60_000);

test('where time is up contents are copied as they are, and are made smaller another time', () => {
  const directory = temporary();
  const text = Buffer.from(lines(10_000));
  const sha256 = crypto.hash('sha256', text, 'hex');
  const sizes = [false, true].map((hasTime) => {
    const writer = new PackWriter(directory, () => false);
    const repacker = new Repacker(writer, { kin: () => 'none', hasTime: () => hasTime });
    repacker.put(sha256, text);
    repacker.finish();
    writer.sync();
    const name = String(writer.number).padStart(8, '0');
    writer.close();
    const packs = new Packs(directory);
    expect(packs.read(sha256).equals(text)).toBe(true);
    packs.close();
    return fs.statSync(path.join(directory, `${name}.pack`)).size;
  });
  expect(sizes[0]).toBeGreaterThan(text.length);
  expect(sizes[1]).toBeLessThan(text.length / 2);
});

/** Makes turns and gives what stood before each of them, and at the end. */
async function turns(at: Bench, count: number, change: (i: number) => void): Promise<Snapshot[]> {
  const states: Snapshot[] = [];
  for (let i = 0; i < count; i++) {
    states.push(at.snapshot());
    await at.turn('next', () => {
      change(i);
    });
  }
  return states;
}

/** Rewinds all turns, newest first, `first` being the number of the oldest. */
async function expectAllBack(at: Bench, states: readonly Snapshot[], first = 1): Promise<void> {
  expect(verifyStore(at)).toMatchObject({ whole: true, findings: [] });
  for (const [i, state] of [...states.entries()].reverse()) {
    expect(await at.rewind(`t${first + i}`)).toMatchObject({ complete: true });
    expect(at.snapshot()).toEqual(state);
  }
}

function packsOf(at: Bench): number {
  return filesBelow(path.join(at.store, 'packs')).reduce((sum, f) => sum + fs.statSync(f).size, 0);
}

function lines(count: number): string {
  return Array.from({ length: count }, (_, i) => `line ${i * 7919}\n`).join('');
}
