import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { PreimageError, type VerifyReport, verifyStore } from '../../src/index.js';
import { Packs } from '../../src/store/packs.js';
import { sha256 } from '../support/scan.js';
import { tell } from '../support/soak.js';
import type { Snapshot } from '../support/tree.js';
import { type Bench, bench, filesBelow } from '../support/turns.js';

/** How many flips each run of the test tries; `PREIMAGE_FLIPS` in the environment asks for more. */
const FLIPS = Number(process.env.PREIMAGE_FLIPS ?? 120);
const REPAIRED_EVERY = 9;

test.each(['raw', 'repacked'] as const)(
  'each single flipped bit in any file of the store is found, packs %s',
  async (packs) => {
    const { at, states } = await history(packs);
    const keep = keeper(at);
    const seed = Number(process.env.PREIMAGE_SEED ?? Date.now() % 1_000_000);
    const random = generator(seed);
    const kinds = new Set(
      filesBelow(at.store).map((file) => kindOf(path.relative(at.store, file))),
    );
    expect([...kinds].sort()).toEqual(KINDS);
    for (let i = 0; i < FLIPS; i++) {
      // Every kind of file in turn.
      const files = filesBelow(at.store).filter((file) => {
        return kindOf(path.relative(at.store, file)) === KINDS[i % KINDS.length];
      });
      const file = files[Math.floor(random() * files.length)] ?? '';
      const offset = Math.floor(random() * fs.statSync(file).size);
      const bit = Math.floor(random() * 8);
      const flip = { seed, i, file: path.relative(at.store, file), offset, bit };
      flipBit(file, offset, bit);
      const found = verified(at);
      if (file.endsWith('.idx')) {
        expect({ ...flip, found }).toMatchObject({
          found: { whole: true, findings: [{ kind: 'note', place: flip.file }] },
        });
        expect({ ...flip, again: verified(at) }).toMatchObject({ again: { findings: [] } });
      } else {
        expect({ ...flip, whole: found !== 'no report' && found.whole }).toEqual({
          ...flip,
          whole: false,
        });
      }
      if (i % REPAIRED_EVERY === 0) {
        const repaired = verifyStore({ ...at, repair: true });
        expect({ ...flip, repaired }).toMatchObject({ repaired: { whole: true } });
        const again = verifyStore(at);
        expect({ ...flip, again }).toMatchObject({ again: { whole: true } });
        await expectTruthful(at, states, { flip, found });
        keep.putBack();
      } else if (!file.endsWith('.idx')) {
        flipBit(file, offset, bit);
      }
    }
    tell('flipped bits', { flips: FLIPS, unseen: 0 });
  },
  60_000 + FLIPS * 200,
);

test('the end of any line of the log that is changed is found, named and mended', async () => {
  const { at, states } = await history();
  const keep = keeper(at);
  const log = path.join(at.store, 'log');
  const bytes = fs.readFileSync(log);
  const ends = [...bytes.entries()].flatMap(([offset, byte]) => (byte === 0x0a ? [offset] : []));
  expect(ends.length).toBeGreaterThan(5);
  for (const [i, offset] of ends.entries()) {
    for (const bit of [0, 2, 6]) {
      flipBit(log, offset, bit);
      const found = verified(at);
      expect({ i, found }).toMatchObject({ found: { whole: false } });
      expect(JSON.stringify(found)).toContain(`the end of line ${i + 1} was changed`);
      flipBit(log, offset, bit);
    }
    flipBit(log, offset, 3);
    const found = verified(at);
    expect({ i, ...verifyStore({ ...at, repair: true }) }).toMatchObject({ whole: true });
    await expectTruthful(at, states, { flip: { i }, found });
    keep.putBack();
  }
});

test('a damaged content costs its own paths and no others; nothing is deleted', async () => {
  const { at, states } = await history();
  const pack = packWith(at, 'two of b');
  const damaged = fs.readFileSync(pack);
  damaged.writeUInt8(
    damaged.readUInt8(damaged.indexOf('two of b')) ^ 1,
    damaged.indexOf('two of b'),
  );
  fs.writeFileSync(pack, damaged);
  const found = verifyStore(at);
  // t2 left it there, and t3 found it there.
  expect(found).toMatchObject({ whole: false, turns: ['t2', 't3'] });
  expect(fs.readFileSync(pack).equals(damaged)).toBe(true);
  const repaired = verifyStore({ ...at, repair: true });
  expect(repaired).toMatchObject({ whole: true, turns: ['t2', 't3'] });
  expect(fs.readFileSync(path.join(at.store, 'damaged', path.basename(pack)))).toEqual(damaged);
  // The loss is remembered, and told as what it is.
  expect(verifyStore(at)).toMatchObject({
    whole: true,
    findings: [{ kind: 'note', turns: ['t2', 't3'] }],
  });
  expect(verifyStore({ ...at, repair: true }).repairs).toEqual([]);
  await rewindsTo(at, 't4', states[3]);
  const { complete, outcomes } = await at.rewind('t3');
  expect(complete).toBe(false);
  expect(outcomes.filter(({ outcome }) => outcome === 'failed')).toEqual([
    { path: 'b.txt', outcome: 'failed', reason: expect.stringContaining('missing') },
  ]);
  const { 'b.txt': _, ...others } = at.snapshot();
  const { 'b.txt': __, ...expected } = states[2] ?? {};
  expect(others).toEqual(expected);
});

test('what the workspace as it stands has lost in the store is stored anew by the next open', async () => {
  const at = bench({ 'a.txt': 'precious' });
  await at.turn('t1', () => at.write({ 'b.txt': 'b' }));
  const pack = packWith(at, 'precious');
  flipBit(pack, fs.readFileSync(pack).indexOf('precious'), 3);
  expect(verifyStore(at)).toMatchObject({ whole: false, turns: [] });
  expect(verifyStore({ ...at, repair: true })).toMatchObject({ whole: true });
  const before = at.snapshot();
  await at.turn('t2', () => at.write({ 'a.txt': 'gone' }));
  await rewindsTo(at, 't2', before);
  expect(verifyStore(at).findings).toEqual([]);
});

test('a line of the log that is lost costs no other turn anything', async () => {
  const { at, states } = await history();
  const keep = keeper(at);
  const log = path.join(at.store, 'log');
  const lines = fs.readFileSync(log, 'utf8').trimEnd().split('\n');
  for (let lost = 0; lost < lines.length; lost++) {
    for (const how of ['damaged', 'gone'] as const) {
      const rest = lines.map((line, i) => (i === lost ? line.replace('"at"', '"AT"') : line));
      const text = how === 'gone' ? lines.filter((_, i) => i !== lost) : rest;
      // The last line cannot be missed where it is gone: nothing follows it.
      if (how === 'gone' && lost === lines.length - 1) continue;
      fs.writeFileSync(log, `${text.join('\n')}\n`);
      const found = verified(at);
      expect({ lost, how, found }).toMatchObject({ found: { whole: false } });
      expect({ lost, how, again: verifyStore({ ...at, repair: true }) }).toMatchObject({
        again: { whole: true },
      });
      expect(verifyStore(at)).toMatchObject({ whole: true });
      await expectTruthful(at, states, { flip: { lost, how }, found });
      await at.turn('next', () => at.write({ 'next.txt': 'x' }));
      keep.putBack();
    }
  }
}, 60_000);

test('a list of changes, a manifest or a pack that is gone is told with the turns that it touches', async () => {
  const { at, states } = await history();
  const keep = keeper(at);
  const [detail = ''] = fs.readdirSync(path.join(at.store, 'details'));
  fs.rmSync(path.join(at.store, 'details', detail));
  expect(verifyStore(at)).toMatchObject({ whole: false, turns: ['t3'] });
  expect(verifyStore({ ...at, repair: true })).toMatchObject({ whole: true });
  expect(verifyStore(at)).toMatchObject({ whole: true });
  await rewindsTo(at, 't4', states[3]);
  expect(at.with((store) => store.show('t3'))).toMatchObject({ files: [] });
  keep.putBack();

  fs.rmSync(packWith(at, 'two of b'));
  expect(verifyStore(at)).toMatchObject({ whole: false });
  expect(verifyStore({ ...at, repair: true })).toMatchObject({ whole: true });
  expect(verifyStore(at)).toMatchObject({ whole: true });
  await rewindsTo(at, 't4', states[3]);
  keep.putBack();

  for (const name of fs.readdirSync(path.join(at.store, 'manifests'))) {
    fs.rmSync(path.join(at.store, 'manifests', name));
  }
  expect(verifyStore(at)).toMatchObject({ whole: true, findings: [{ kind: 'note' }] });
  await rewindsTo(at, 't4', states[3]);
});

test('a pack without its index loses no record behind a damaged one', async () => {
  const at = bench({
    'a.txt': 'first content',
    'b.txt': 'second content',
    'c.txt': 'third content',
  });
  await at.turn('t1', () => {});
  const pack = packWith(at, 'first content');
  const packs = path.dirname(pack);
  const bytes = fs.readFileSync(pack);
  fs.rmSync(pack.replace('.pack', '.idx'));
  // The header of the second record, in its length.
  flipBit(pack, bytes.indexOf('second content') - 50, 0);
  const reader = new Packs(packs);
  expect(reader.read(sha256('first content')).toString()).toBe('first content');
  expect(reader.read(sha256('third content')).toString()).toBe('third content');
  expect(reader.has(sha256('second content'))).toBe(false);
  reader.close();
});

test('records of another store that are in a stored file lead nobody astray', async () => {
  const inner = bench({ 'x.txt': 'x'.repeat(500), 'y.txt': 'y'.repeat(500) });
  await inner.turn('t1', () => {});
  const theirs = fs.readFileSync(packWith(inner, 'xxx'));
  const at = bench({ 'a.pack': theirs.subarray(0, theirs.length - 100), 'b.txt': 'behind it' });
  await at.turn('t1', () => {});
  const pack = packWith(at, 'behind it');
  fs.rmSync(pack.replace('.pack', '.idx'));
  flipBit(pack, fs.readFileSync(pack).indexOf(theirs.subarray(0, 64)) - 10, 0);
  const reader = new Packs(path.dirname(pack));
  expect(reader.read(sha256('behind it')).toString()).toBe('behind it');
  reader.close();
});

test('a store whose description is damaged is mended where it is known whose it is', async () => {
  const { at, states } = await history();
  const identity = path.join(at.store, 'store.json');
  fs.writeFileSync(identity, fs.readFileSync(identity, 'utf8').replace('/ws"', '/wS"'));
  expect(() => verifyStore(at)).toThrow(/store\.json/);
  expect(() => verifyStore({ store: at.store, cwd: at.root, repair: true })).toThrow(/whose it is/);
  expect(verifyStore({ ...at, repair: true })).toMatchObject({
    whole: true,
    repairs: [expect.stringContaining('store.json')],
  });
  await rewindsTo(at, 't4', states[3]);
});

test('a repair waits for nobody and harms nobody who is at work', async () => {
  const { at } = await history();
  const pack = packWith(at, 'two of b');
  flipBit(pack, fs.readFileSync(pack).indexOf('two of b'), 0);
  // Somebody who is alive, and is not us.
  fs.mkdirSync(path.join(at.store, 'control', `${process.ppid}-0a1b2c3d4e5f`));
  expect(verifyStore(at)).toMatchObject({ whole: false });
  expect(() => verifyStore({ ...at, repair: true })).toThrow(/at work/);
});

/** Kinds of files that a store has. */
const KINDS = ['details', 'idx', 'log', 'manifests', 'pack', 'retired', 'store.json'];

function kindOf(file: string): string {
  return (
    /^details|^manifests/.exec(file)?.[0] ??
    /(?:idx|pack|retired|log|store\.json)$/.exec(file)?.[0] ??
    file
  );
}

/**
 * Turns t1 to t4 and, behind them, a rewind and its redo; t0 is pruned away. `states` is what stood
 * before t1, before t2, …, and at the end.
 */
async function history(
  packs: 'raw' | 'repacked' = 'raw',
): Promise<{ at: Bench; states: Snapshot[] }> {
  const many = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`f${i}`, `file ${i}`]));
  const at = bench({ 'a.txt': 'zero'.repeat(100), 'b.txt': 'zero of b' });
  // As much as is worth it, with small files that become a block and versions of a large one.
  const large = packs === 'raw' ? '' : lines(40_000);
  if (packs === 'repacked') at.write({ 'large.txt': large, 'text.txt': lines(9000) });
  await at.turn('t0', () => at.write({ 'a.txt': 'one of a' }));
  const states: Snapshot[] = [at.snapshot()];
  const turn = async (id: string, change: () => void) => {
    await at.turn(id, change);
    states.push(at.snapshot());
  };
  await turn('t1', () => at.write({ 'b.txt': 'one of b', dir: { 'made.txt': 'made' } }));
  await turn('t2', () => {
    at.write({ 'b.txt': 'two of b' });
    if (packs === 'repacked') at.write({ 'large.txt': `${large}more\n` });
  });
  await turn('t3', () => at.write({ 'b.txt': 'three of b', many }));
  await turn('t4', () => at.write({ 'a.txt': 'four of a' }));
  await at.rewind('t4');
  await at.redo();
  at.with((store) => store.prune({ keep: 4 }));
  const { checked } = verifyStore(at);
  expect(verifyStore(at)).toMatchObject({ whole: true, findings: [] });
  if (packs === 'repacked') expect(checked.bytes).toBeLessThan(large.length);
  expect(at.snapshot()).toEqual(states[4]);
  return { at, states };
}

function lines(count: number): string {
  return Array.from({ length: count }, (_, i) => `line ${i * 7919}\n`).join('');
}

/**
 * After a repair, rewinds the turns one by one, newest first: what the damage does not touch comes back
 * exactly, and what does not come back is named.
 */
async function expectTruthful(
  at: Bench,
  states: readonly Snapshot[],
  { flip, found }: { flip: object; found: VerifyReport | 'no report' },
): Promise<void> {
  const touched = found === 'no report' ? [] : found.turns;
  let exact = true;
  for (const [i, turn] of [...['t1', 't2', 't3', 't4'].entries()].reverse()) {
    exact &&= !touched.includes(turn) && at.ids().includes(turn);
    if (!exact) continue;
    const { complete, outcomes } = await at.rewind(turn);
    expect({ ...flip, turn, touched, complete, outcomes }).toMatchObject({ complete: true });
    expect({ ...flip, turn, now: at.snapshot() }).toEqual({ ...flip, turn, now: states[i] });
  }
}

function verified(at: Bench): VerifyReport | 'no report' {
  try {
    return verifyStore(at);
  } catch (error) {
    // Not even its description can be read: that is found as well.
    expect(error).toBeInstanceOf(PreimageError);
    expect(['damaged', 'newer-store']).toContain((error as PreimageError).code);
    return 'no report';
  }
}

/** Keeps a copy of workspace and store, to put both back as they were. */
function keeper(at: Bench): { putBack: () => void } {
  const kept = [at.root, at.store].map((from) => ({ from, to: `${from}-kept` }));
  const copy = (from: string, to: string) => {
    fs.rmSync(to, { recursive: true, force: true });
    fs.cpSync(from, to, { recursive: true, preserveTimestamps: true });
  };
  for (const { from, to } of kept) copy(from, to);
  return {
    putBack: () => {
      for (const { from, to } of kept) copy(to, from);
    },
  };
}

async function rewindsTo(at: Bench, turn: string, state: Snapshot | undefined): Promise<void> {
  expect(await at.rewind(turn)).toMatchObject({ complete: true });
  expect(at.snapshot()).toEqual(state);
}

function packWith(at: Bench, text: string): string {
  const packs = filesBelow(path.join(at.store, 'packs')).filter((file) => file.endsWith('.pack'));
  const found = packs.find((file) => fs.readFileSync(file).includes(text));
  if (found === undefined) throw new Error(`no pack holds ${text}`);
  return found;
}

function flipBit(file: string, offset: number, bit: number): void {
  const bytes = fs.readFileSync(file);
  bytes.writeUInt8(bytes.readUInt8(offset) ^ (1 << bit), offset);
  fs.writeFileSync(file, bytes);
}

/** Numbers from 0 to 1 that are the same for the same seed (mulberry32). */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
