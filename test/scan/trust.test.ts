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
