import fs from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Manifest } from '../../src/core/manifest.js';
import { relPath } from '../../src/core/relpath.js';
import type { TrustQuestion } from '../../src/core/trust.js';
import { scan, sha256 } from '../support/scan.js';
import { temporary } from '../support/tree.js';

const rule = vi.hoisted(() => ({ plainStatEquality: false }));

vi.mock('../../src/core/trust.js', async (load) => {
  const real = await load<typeof import('../../src/core/trust.js')>();
  const plain = ({ sameKey }: TrustQuestion) => (sameKey ? 'reuse' : 'hash');
  return {
    ...real,
    decideTrust: (question: TrustQuestion) =>
      rule.plainStatEquality ? plain(question) : real.decideTrust(question),
    // The spot check would find some of what a wrong rule misses.
    isSpotCheck: () => false,
  };
});

// Reading the memory maps of all processes is most of the time of so small a scan.
vi.mock('../../src/files/mappings.js', () => ({
  sharedWritableInodes: () => ({ inodes: new Set(), complete: true }),
}));

beforeEach(() => {
  rule.plainStatEquality = false;
});
afterEach(() => {
  vi.restoreAllMocks();
});

const ROUNDS = 4000;
const SECOND_NS = 1_000_000_000n;

/** Makes every stamp that Node tells a whole second, as FAT, HFS+ and old ext3 have it. */
function coarsenStamps(): void {
  const coarse = (stat: fs.BigIntStats | undefined): fs.BigIntStats | undefined => {
    if (stat === undefined) return stat;
    stat.ctimeNs -= stat.ctimeNs % SECOND_NS;
    stat.mtimeNs -= stat.mtimeNs % SECOND_NS;
    return stat;
  };
  const { lstatSync, fstatSync } = fs;
  const lstatBig = (path: fs.PathLike) => lstatSync(path, { bigint: true, throwIfNoEntry: false });
  vi.spyOn(fs, 'lstatSync').mockImplementation((path) => coarse(lstatBig(path)));
  vi.spyOn(fs, 'fstatSync').mockImplementation((fd) => {
    const stat = fstatSync(fd, { bigint: true });
    coarse(stat);
    return stat;
  });
}

/** Rewrites a file in place, same size, again and again, and counts how often a scan misses it. */
function countStaleHits(root: string): number {
  const path = join(root, 'file');
  const fd = fs.openSync(path, 'w+');
  let baseline: Manifest | 'none' = 'none';
  let stale = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const text = String(round).padStart(8, '0');
    fs.writeSync(fd, text, 0);
    baseline = scan(root, baseline).manifest;
    const index = baseline.find(relPath('file'));
    if (baseline.sha256(index) !== sha256(text)) stale += 1;
  }
  fs.closeSync(fd);
  return stale;
}

test('4,000 same-size rewrites in a tight loop: no scan keeps a stale hash', () => {
  expect(countStaleHits(temporary())).toBe(0);
});

test('nor on a file system whose stamps are whole seconds', () => {
  coarsenStamps();
  expect(countStaleHits(temporary())).toBe(0);
});

test('this test sees the fault: plain stat equality keeps stale hashes there', () => {
  coarsenStamps();
  rule.plainStatEquality = true;
  expect(countStaleHits(temporary())).toBeGreaterThan(ROUNDS / 2);
});

/** Makes and removes names in one directory, again and again, and counts how often a scan misses it. */
function countMissedNames(root: string): number {
  let baseline: Manifest | 'none' = 'none';
  let missed = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const [come, go] = [join(root, `n${round % 7}`), join(root, `n${(round + 3) % 7}`)];
    fs.writeFileSync(come, '');
    fs.rmSync(go, { force: true });
    const manifest: Manifest = scan(root, baseline).manifest;
    baseline = manifest;
    const { start, end } = manifest.children(0);
    const names = Array.from({ length: end - start }, (_, i) => manifest.name(start + i));
    if (names.join() !== fs.readdirSync(root).sort().join()) missed += 1;
  }
  return missed;
}

test('4,000 names made and removed in a tight loop: no scan misses one', () => {
  expect(countMissedNames(temporary())).toBe(0);
});

test('nor where stamps are whole seconds', () => {
  coarsenStamps();
  expect(countMissedNames(temporary())).toBe(0);
});

test('a name that vanished without its directory’s stamps moving has the directory listed', () => {
  const root = temporary();
  fs.writeFileSync(join(root, 'a'), '');
  fs.writeFileSync(join(root, 'b'), '');
  const quiet = join(temporary(), 'probe');
  const newest = fs.statSync(root, { bigint: true }).ctimeNs;
  do fs.writeFileSync(quiet, '');
  while (fs.statSync(quiet, { bigint: true }).ctimeNs <= newest);
  const first = scan(root).manifest;
  const key = fs.lstatSync(root, { bigint: true });
  fs.rmSync(join(root, 'a'));
  fs.writeFileSync(join(root, 'c'), '');
  const { statSync } = fs;
  vi.spyOn(fs, 'statSync').mockImplementation((path) => (path === root ? key : statSync(path)));
  const { manifest } = scan(root, first);
  const names = ['a', 'b', 'c'].filter((name) => manifest.find(relPath(name)) >= 0);
  expect(names).toEqual(['b', 'c']);
});

test('a file that has been quiet is not read again', () => {
  const root = temporary();
  for (let i = 0; i < 50; i++) fs.writeFileSync(join(root, `f${i}`), String(i));
  // Its clock must have moved on before the scan, or the files are rightly read once more.
  const newest = fs.statSync(join(root, 'f49'), { bigint: true }).ctimeNs;
  const probe = join(temporary(), 'probe');
  do fs.writeFileSync(probe, '');
  while (fs.statSync(probe, { bigint: true }).ctimeNs <= newest);
  const first = scan(root);
  const second = scan(root, first.manifest);
  expect(first.hashedFiles).toBe(50);
  expect(second.hashedFiles).toBe(0);
  expect(second.manifest).toBe(first.manifest);
});

test('a file with its times put back and the same size is found by its ctime', () => {
  const root = temporary();
  const path = join(root, 'file');
  fs.writeFileSync(path, 'old');
  const before = fs.statSync(path);
  const first = scan(root);
  fs.writeFileSync(path, 'new');
  fs.utimesSync(path, before.atime, before.mtime);
  const { manifest } = scan(root, first.manifest);
  expect(manifest.sha256(manifest.find(relPath('file')))).toBe(sha256('new'));
});
