import fs from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Manifest } from '../../src/core/manifest.js';
import { relPath } from '../../src/core/relpath.js';
import type { ScanProgress, ScanRequest } from '../../src/scan/request.js';
import { scan, sha256 } from '../support/scan.js';
import { slowClock, timeFor } from '../support/slow-clock.js';
import { snapshot, symlink, temporary, tree } from '../support/tree.js';

const DAY_MS = 24 * 60 * 60 * 1000;

/** A scan that has time for so many files. */
function short(root: string, files: number, from: Manifest | 'none' = 'none', more: More = {}) {
  const budget = { ms: timeFor(files), now: slowClock(), sync };
  return scan(root, from, { budget, spotChecks: false, ...more });
}

type More = Partial<ScanRequest>;
const sync = () => {};

/** Lets the stamps of what was written settle, as they have in a workspace that is not a moment old. */
function aged(root: string, days: Readonly<Record<string, number>> = {}): void {
  for (const [name, age] of Object.entries(days)) {
    const time = new Date(Date.now() - age * DAY_MS);
    fs.utimesSync(join(root, name), time, time);
  }
  const tick = join(temporary(), 'tick');
  const now = () => fs.lstatSync(tick, { bigint: true }).ctimeNs;
  fs.writeFileSync(tick, '');
  for (const start = now(); now() === start; ) fs.utimesSync(tick, new Date(), new Date());
}

function captured(manifest: Manifest): string[] {
  return entries(manifest, (image) => image.kind === 'content' && image.type === 'file');
}

function left(manifest: Manifest): string[] {
  return entries(manifest, (image) => image.kind === 'skipped');
}

function entries(
  manifest: Manifest,
  isMeant: (image: ReturnType<Manifest['image']>) => boolean,
): string[] {
  const all = Array.from({ length: manifest.count }, (_, i) => i);
  return all.filter((i) => isMeant(manifest.image(i))).map((i) => manifest.path(i));
}

test('the newest and smallest files are copied, and what was not is never taken for absent', () => {
  const root = tree(temporary(), {
    'big-new': Buffer.alloc(3_000_000, 1),
    'big-old': Buffer.alloc(3_000_000, 2),
    'small-new': 'new',
    deep: { 'small-old': 'old', 'small-older': 'older' },
    empty: {},
    link: symlink('small-new'),
  });
  aged(root, { 'big-old': 30, 'deep/small-old': 30, 'deep/small-older': 3000 });
  const { manifest, overBudget, warnings } = short(root, 2);
  expect(captured(manifest)).toEqual(['big-new', 'small-new']);
  expect(left(manifest)).toEqual(['big-old', 'deep/small-old', 'deep/small-older'].sort());
  expect(manifest.imageAt(relPath('big-old'))).toMatchObject({
    kind: 'skipped',
    why: 'over-budget',
    reason: 'over the time budget',
    stamp: expect.stringMatching(/^\d+:/),
  });
  expect(manifest.imageAt(relPath('link'))).toMatchObject({ type: 'symlink' });
  expect(manifest.imageAt(relPath('empty'))).toMatchObject({ type: 'directory' });
  expect(overBudget).toEqual({ files: 3, bytes: 3_000_008 });
  expect(warnings).toEqual([
    expect.stringMatching(
      /^3 files \(2\.9 MB\) were not copied in time: over the time budget of 4ms; /,
    ),
  ]);
});

test('among files of a checkout, all written at once, the smallest come first', () => {
  const root = tree(temporary(), { a: 'x'.repeat(9000), b: 'x'.repeat(10), c: 'x'.repeat(400) });
  aged(root);
  expect(captured(short(root, 1).manifest)).toEqual(['b']);
  expect(captured(short(root, 2).manifest)).toEqual(['b', 'c']);
});

test('each opening goes on where the last one stopped, until all is copied', () => {
  const names = Array.from({ length: 10 }, (_, i) => `f${i}`);
  const root = tree(temporary(), Object.fromEntries(names.map((name) => [name, `old ${name}`])));
  aged(root);
  let manifest: Manifest | 'none' = 'none';
  for (const [sum, read] of [
    [3, 3],
    [6, 3],
    [9, 3],
    [10, 1],
  ] as const) {
    const result = short(root, 3, manifest);
    expect(captured(result.manifest)).toHaveLength(sum);
    expect(result.hashedFiles).toBe(read);
    manifest = result.manifest;
  }
  const full = scan(root).manifest;
  for (const name of names) {
    expect(manifest).toMatchObject({ meta: { files: 10 } });
    expect((manifest as Manifest).imageAt(relPath(name))).toEqual(full.imageAt(relPath(name)));
  }
  const again = short(root, 3, manifest);
  expect(again.manifest).toBe(manifest);
  expect(again).toMatchObject({ hashedFiles: 0, warnings: [], overBudget: { files: 0 } });
});

test('an opening without a budget copies what earlier ones have left', () => {
  const root = tree(temporary(), { a: 'a', b: 'b', c: 'c' });
  aged(root);
  const { manifest } = short(root, 1);
  expect(left(scan(root, manifest).manifest)).toEqual([]);
});

test('where looking at the tree took all the time, a tenth of it is left for copying', () => {
  const root = tree(temporary(), { a: 'a', b: 'b', c: 'c', d: 'd', e: 'e' });
  aged(root);
  const looks = [0, 1000, 1010, 1020, 1030];
  const now = () => looks.shift() ?? 1040;
  const { manifest } = scan(root, 'none', { budget: { ms: 300, now, sync } });
  expect(captured(manifest)).toHaveLength(2);
});

test('however short the time, all is safe in the end, whatever else changes', () => {
  const root = tree(temporary(), { a: 'a', b: 'b', c: 'c' });
  aged(root, { a: 1, b: 2, c: 3 });
  let { manifest } = scan(root, 'none', { budget: { ms: 0.1, now: slowClock(), sync } });
  expect(captured(manifest)).toEqual(['a']);
  for (let round = 0; round < 4; round++) {
    fs.writeFileSync(join(root, 'a'), `changed again ${round}`);
    manifest = scan(root, manifest, { budget: { ms: 0.1, now: slowClock(), sync } }).manifest;
  }
  expect(captured(manifest)).toEqual(expect.arrayContaining(['b', 'c']));
});

test('a close leaves what the opening left, but for what changed', () => {
  const root = tree(temporary(), { a: 'a', b: 'b', c: 'c', d: 'd' });
  aged(root, { b: 1, c: 2, d: 3 });
  const { manifest } = short(root, 1);
  expect(captured(manifest)).toEqual(['a']);
  fs.writeFileSync(join(root, 'c'), 'changed');
  fs.rmSync(join(root, 'd'));
  const closed = scan(root, manifest, { keepCoverage: true, spotChecks: false });
  expect(closed.hashedFiles).toBe(1);
  expect(captured(closed.manifest)).toEqual(['a', 'c']);
  expect(left(closed.manifest)).toEqual(['b']);
  // The next opening takes it up from there.
  expect(captured(short(root, 3, closed.manifest).manifest)).toEqual(['a', 'b', 'c']);
});

test('what is trusted is looked at again only if there is time for it', () => {
  const root = tree(
    temporary(),
    Object.fromEntries(Array.from({ length: 99 }, (_, i) => [i, 'x'])),
  );
  aged(root);
  const { manifest } = scan(root);
  const again = (files: number) => short(root, files, manifest, { spotChecks: true });
  expect(again(9).manifest).toBe(manifest);
  expect(again(-2).manifest).toBe(manifest);
});

test('a file that is gone, replaced or behind a link once its turn comes is not read there', () => {
  const outside = tree(temporary(), { f: 'theirs', g: 'theirs as well' });
  const root = tree(temporary(), { dir: { f: 'ours' }, gone: 'g', other: 'old', last: 'last' });
  aged(root, { 'dir/f': 1, gone: 1, other: 1 });
  let look = 0;
  const now = () => {
    look += 1;
    // The walk is over with the second look.
    if (look === 2) {
      fs.renameSync(join(root, 'dir'), join(temporary(), 'dir'));
      fs.symlinkSync(outside, join(root, 'dir'));
      fs.rmSync(join(root, 'gone'));
      fs.writeFileSync(join(root, 'new'), 'replaced');
      fs.renameSync(join(root, 'new'), join(root, 'other'));
    }
    return 0;
  };
  const { manifest } = scan(root, 'none', { budget: { ms: 1000, now, sync } });
  for (const path of ['dir/f', 'gone']) {
    expect(manifest.imageAt(relPath(path))).toMatchObject({
      kind: 'skipped',
      why: 'unreadable',
      reason: 'it changed while it was scanned',
    });
  }
  expect(manifest.imageAt(relPath('other'))).toMatchObject({ sha256: sha256('replaced') });
  // What is under the key of the new file has its hash, and is no change at the close.
  expect(scan(root, manifest, { keepCoverage: true }).manifest.imageAt(relPath('other'))).toEqual(
    manifest.imageAt(relPath('other')),
  );
});

test('large files that are cloned wait as well; those that cost nothing do not', () => {
  const root = tree(temporary(), { a: 'x'.repeat(500), b: 'x'.repeat(600), c: 'x'.repeat(700) });
  aged(root);
  const only = { maxFile: 100 };
  const cloned: string[] = [];
  const keepLarge: ScanRequest['keepLarge'] = (path, stat) => {
    cloned.push(String(path));
    return { kind: 'cloned', sha256: sha256(fs.readFileSync(path)), stat };
  };
  const budget = () => ({ ms: timeFor(1), now: slowClock(), sync });
  const first = scan(root, 'none', { only, keepLarge, budget: budget() }).manifest;
  expect([captured(first), left(first)]).toEqual([['a', 'b'], ['c']]);
  const linked: ScanRequest['keepLarge'] = (_, stat) => ({ kind: 'linked', stat });
  const second = scan(root, 'none', { only, keepLarge: linked, budget: budget() });
  expect(second.overBudget.files).toBe(0);
  expect(second.manifest.imageAt(relPath('c'))).toMatchObject({ why: 'too-large' });
});

test('progress tells what is still to be copied and how much time there is', () => {
  const root = tree(temporary(), { a: 'aaaa', b: 'bb', c: 'c' });
  aged(root);
  const told: ScanProgress[] = [];
  const onProgress: ScanRequest['onProgress'] = (progress) => told.push(progress);
  const { manifest } = short(root, 2, 'none', { onProgress });
  expect(told.map(({ rest }) => rest)).toEqual([
    'unknown',
    { files: 2, bytes: 6, ms: 2 },
    { files: 1, bytes: 4, ms: 1 },
  ]);
  expect(told.map(({ copied, expected }) => [copied, expected])).toEqual([
    [0, 'unknown'],
    [1, 'unknown'],
    [3, 'unknown'],
  ]);
  told.length = 0;
  short(root, 2, manifest, { onProgress });
  expect(told.at(-1)).toMatchObject({ expected: 4, rest: { files: 0, bytes: 0 } });
});

test('what is copied is made durable within the time, not all of it after', () => {
  const MB = 1024 * 1024;
  const names = ['a', 'b', 'c', 'd', 'e'];
  const root = tree(
    temporary(),
    Object.fromEntries(names.map((n) => [n, Buffer.alloc(16 * MB, n)])),
  );
  aged(root);
  let syncs = 0;
  const budget = { ms: 1000, now: slowClock(), sync: () => void syncs++ };
  expect(captured(scan(root, 'none', { budget, only: { maxFile: 0 } }).manifest)).toEqual(names);
  expect(syncs).toBe(2);
});

test('a scan never touches what it scans, with a budget or without', () => {
  const root = tree(temporary(), { a: 'a', dir: { b: 'b' } });
  const before = snapshot(root);
  short(root, 1);
  expect(snapshot(root)).toEqual(before);
});
