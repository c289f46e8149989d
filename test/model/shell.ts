import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { absolute, type Disk, isBelow, parentsOf, readDisk } from './disk.js';
import { LEFT_OUT, LIMIT } from './oracle.js';

/** A place that an operation is about: chosen among what stands when it runs. */
export type Spot =
  /** This name in the n-th directory, whether or not something stands there. */
  | { readonly in: number; readonly name: string }
  /** The n-th of all paths. */
  | { readonly nth: number };

/** What a shell command does to files, one operation. */
export type Operation =
  | { readonly op: 'write' | 'append' | 'replace'; readonly at: Spot; readonly data: string }
  /** Other bytes of the same length, the time of last change put back. */
  | { readonly op: 'rewrite'; readonly at: Spot }
  | { readonly op: 'truncate' | 'remove' | 'mkdir' | 'touch'; readonly at: Spot }
  | { readonly op: 'chmod'; readonly at: Spot; readonly mode: number }
  | { readonly op: 'rename' | 'link' | 'exchange'; readonly from: Spot; readonly to: Spot }
  | { readonly op: 'symlink'; readonly at: Spot; readonly target: string }
  /** Whatever stands there becomes something else. */
  | { readonly op: 'swap'; readonly at: Spot; readonly kind: Kind }
  | { readonly op: 'clear' };

type Kind = 'file' | 'directory' | 'symlink' | 'fifo';

// `a`, `a-` and `a/b` sort differently as strings and as paths; `\xff\xfe` is no UTF-8.
const anyName = fc.constantFrom('a', 'a', 'a-', 'b', 'b', '.env', '\xff\xfe', 'x\ny', LEFT_OUT);
const anySpot: fc.Arbitrary<Spot> = fc.oneof(
  { arbitrary: fc.record({ in: fc.nat({ max: 5 }), name: anyName }), weight: 3 },
  { arbitrary: fc.record({ nth: fc.nat({ max: 15 }) }), weight: 2 },
);
const anyData = fc.constantFrom('', 'one', 'two', 'six', 'longer\n', 'x'.repeat(65));
const anyTarget = fc.constantFrom('a', '../b', 'nowhere', 'a/b', '@outside', '@outside/f', '.');
const pair = { from: anySpot, to: anySpot };

export const anyOperation: fc.Arbitrary<Operation> = fc.oneof(
  weighted(
    6,
    fc.record({ op: fc.constantFrom('write', 'append', 'replace'), at: anySpot, data: anyData }),
  ),
  weighted(2, fc.record({ op: fc.constant('rewrite'), at: anySpot })),
  weighted(1, fc.record({ op: fc.constantFrom('truncate', 'touch'), at: anySpot })),
  weighted(3, fc.record({ op: fc.constantFrom('remove', 'mkdir'), at: anySpot })),
  weighted(
    2,
    fc.record({
      op: fc.constant('chmod'),
      at: anySpot,
      mode: fc.constantFrom(0o600, 0o644, 0o755, 0o700, 0o1755),
    }),
  ),
  weighted(3, fc.record({ op: fc.constantFrom('rename', 'link', 'exchange'), ...pair })),
  weighted(1, fc.record({ op: fc.constant('symlink'), at: anySpot, target: anyTarget })),
  weighted(
    3,
    fc.record({
      op: fc.constant('swap'),
      at: anySpot,
      kind: fc.constantFrom('file', 'file', 'directory', 'directory', 'symlink', 'fifo'),
    }),
  ),
  weighted(1, fc.record({ op: fc.constant('clear') })),
);

/** What makes something to work on. */
export const anyMaking: fc.Arbitrary<Operation> = fc.oneof(
  weighted(4, fc.record({ op: fc.constant('write'), at: anySpot, data: anyData })),
  weighted(3, fc.record({ op: fc.constant('mkdir'), at: anySpot })),
  weighted(1, fc.record({ op: fc.constant('link'), ...pair })),
  weighted(1, fc.record({ op: fc.constant('symlink'), at: anySpot, target: anyTarget })),
);

function weighted<T>(
  weight: number,
  arbitrary: fc.Arbitrary<T>,
): { weight: number; arbitrary: fc.Arbitrary<T> } {
  return { weight, arbitrary };
}

/** Where operations run. */
export type Place = { readonly root: string; readonly outside: string };

/** Runs operations one after another; what a shell would print an error for changes nothing. */
export function runShell(place: Place, operations: readonly Operation[]): void {
  for (const operation of operations) {
    try {
      run(place, operation);
    } catch (error) {
      if (!isRefusal(error)) throw error;
    }
  }
}

/** Finds the path that a spot means now. */
export function resolveSpot(disk: Disk, spot: Spot): string {
  if ('nth' in spot) {
    const paths = [...disk.keys()].filter((path) => path !== '');
    return paths[spot.nth % Math.max(1, paths.length)] ?? 'a';
  }
  const directories = [...disk].flatMap(([path, { kind }]) =>
    kind === 'directory' && parentsOf(path).length < DEEPEST ? [path] : [],
  );
  const directory = directories[spot.in % directories.length] ?? '';
  return directory === '' ? spot.name : `${directory}/${spot.name}`;
}

const DEEPEST = 3;

const REFUSALS = new Set([
  'ENOENT',
  'ENOTDIR',
  'EISDIR',
  'EEXIST',
  'ENOTEMPTY',
  'ELOOP',
  'EINVAL',
  'EPERM',
  'EBUSY',
  'ERR_FS_EISDIR',
  'ERR_FS_CP_DIR_TO_NON_DIR',
]);

function isRefusal(error: unknown): boolean {
  return error instanceof Error && 'code' in error && REFUSALS.has(String(error.code));
}

/** A fixed time of last change, in seconds: it can be put back to the nanosecond. */
const MTIME = 1_700_000_000;

function run(place: Place, operation: Operation): void {
  const disk = readDisk(place.root);
  const at = (spot: Spot): Buffer => absolute(place.root, resolveSpot(disk, spot));
  // Whoever writes into a named pipe waits for a reader.
  if (WRITES.has(operation.op) && 'at' in operation && isPipe(at(operation.at))) return;
  switch (operation.op) {
    case 'write':
      fs.writeFileSync(at(operation.at), operation.data);
      fs.utimesSync(at(operation.at), MTIME, MTIME);
      return;
    case 'append':
      fs.appendFileSync(at(operation.at), operation.data);
      return;
    case 'replace': {
      const temporary = absolute(place.root, '.replacement');
      fs.writeFileSync(temporary, operation.data);
      try {
        fs.renameSync(temporary, at(operation.at));
      } finally {
        fs.rmSync(temporary, { force: true });
      }
      return;
    }
    case 'rewrite': {
      const path = at(operation.at);
      if (!fs.lstatSync(path).isFile()) return;
      const { mtimeMs } = fs.lstatSync(path);
      const bytes = fs.readFileSync(path);
      fs.writeFileSync(
        path,
        bytes.map((byte) => byte ^ 1),
      );
      fs.utimesSync(path, mtimeMs / 1000, mtimeMs / 1000);
      return;
    }
    case 'truncate':
      fs.truncateSync(at(operation.at));
      return;
    case 'touch':
      fs.lutimesSync(at(operation.at), MTIME, MTIME);
      return;
    case 'remove':
      fs.rmSync(at(operation.at), { recursive: true });
      return;
    case 'mkdir':
      fs.mkdirSync(at(operation.at));
      return;
    case 'chmod':
      chmod(at(operation.at), operation.mode);
      return;
    case 'rename':
      fs.renameSync(at(operation.from), at(operation.to));
      return;
    case 'link':
      link(at(operation.from), at(operation.to));
      return;
    case 'exchange':
      exchange(place.root, resolveSpot(disk, operation.from), resolveSpot(disk, operation.to));
      return;
    case 'symlink':
      makeSymlink(place, at(operation.at), operation.target);
      return;
    case 'swap':
      swap(place, at(operation.at), operation.kind);
      return;
    case 'clear':
      for (const path of disk.keys()) {
        if (path !== '' && !path.includes('/')) {
          fs.rmSync(absolute(place.root, path), { recursive: true });
        }
      }
      return;
  }
}

const WRITES: ReadonlySet<string> = new Set(['write', 'append', 'rewrite', 'truncate']);

function isPipe(path: Buffer): boolean {
  return fs.statSync(path, { throwIfNoEntry: false })?.isFIFO() === true;
}

/** Its owner can always read and search: other tests close files to their owner. */
function chmod(path: Buffer, mode: number): void {
  const stat = fs.lstatSync(path);
  if (stat.isSymbolicLink()) return;
  fs.chmodSync(path, stat.isDirectory() ? mode | 0o700 : mode);
}

function link(from: Buffer, to: Buffer): void {
  const isName = fs.lstatSync(from).isFile() && fs.lstatSync(from).size <= LIMIT;
  if (!isName || from.equals(to)) return;
  if (fs.lstatSync(to, { throwIfNoEntry: false })?.isFile() === true) fs.unlinkSync(to);
  fs.linkSync(from, to);
}

function exchange(root: string, one: string, other: string): void {
  if (one === other || isBelow(one, other) || isBelow(other, one)) return;
  const temporary = absolute(root, '.exchange');
  fs.renameSync(absolute(root, one), temporary);
  fs.rmSync(absolute(root, one), { force: true });
  if (fs.lstatSync(absolute(root, other), { throwIfNoEntry: false }) !== undefined) {
    fs.renameSync(absolute(root, other), absolute(root, one));
  }
  fs.renameSync(temporary, absolute(root, other));
}

/** Node has no call for it, and its arguments are text: the name comes last, by a rename. */
function makePipe({ root }: Place, path: Buffer): void {
  const staged = fs.mkdtempSync(join(root, '..', 'pipe-'));
  spawnSync('mkfifo', ['-m', '640', join(staged, 'pipe')]);
  try {
    fs.renameSync(join(staged, 'pipe'), path);
  } finally {
    fs.rmSync(staged, { recursive: true });
  }
}

function makeSymlink({ outside }: Place, path: Buffer, target: string): void {
  if (fs.lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true) fs.unlinkSync(path);
  fs.symlinkSync(target.replace('@outside', outside), path);
}

function swap(place: Place, path: Buffer, kind: Kind): void {
  fs.rmSync(path, { recursive: true, force: true });
  if (kind === 'file') fs.writeFileSync(path, 'swap');
  else if (kind === 'directory') fs.mkdirSync(path);
  else if (kind === 'fifo') makePipe(place, path);
  else makeSymlink(place, path, '@outside');
}
