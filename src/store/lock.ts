import fs from 'node:fs';
import { join } from 'node:path';
import * as v from 'valibot';
import { errnoOf, isErrno, PreimageError } from '../core/problem.js';
import { type ProcessIdentity, ProcessIdentitySchema } from '../core/records.js';
import { PRIVATE_FILE } from '../files/durable.js';
import { isAlive, ownIdentity } from '../files/process-identity.js';

/** One upkeep of the store at a time: prune, verify and repair exclude each other. */
export const UPKEEP = 'upkeep';

/** How long a lock is waited for before the holder is named and the run ends. */
const WAIT_MS = 10_000;
const FIRST_PAUSE_MS = 1;
const LONGEST_PAUSE_MS = 50;

/**
 * Runs a function while holding a lock of the store. The lock dies with its holder: it names pid,
 * start time and boot, and whoever finds a dead one removes it.
 *
 * Throws `busy` where a live holder does not let go within ten seconds.
 */
export function withLock<T>(locks: string, name: string, run: () => T): T {
  const path = join(locks, name);
  const holder = acquire(path, WAIT_MS);
  if (holder === 'acquired') return releasing(path, run);
  const who = holder === 'unreadable' ? 'An unknown process' : `Process ${holder.pid}`;
  throw new PreimageError('busy', `${who} holds the workspace's history (${path}).`, {
    hint: 'Wait until it has finished, then try again.',
  });
}

/** Runs a function while holding a lock, or does not run it where somebody holds it. */
export function withFreeLock<T>(locks: string, name: string, run: () => T): T | 'held' {
  const path = join(locks, name);
  return acquire(path, 0) === 'acquired' ? releasing(path, run) : 'held';
}

function releasing<T>(path: string, run: () => T): T {
  try {
    return run();
  } finally {
    release(path);
  }
}

/** The locks that this process holds: one of its own that is not among them was left behind. */
const HELD = new Set<string>();

/** A lock that cannot be removed dies with us: no reason to call what was done under it undone. */
function release(path: string): void {
  HELD.delete(path);
  try {
    fs.rmSync(path, { force: true });
  } catch (error) {
    if (errnoOf(error) === '') throw error;
  }
}

function acquire(path: string, waitMs: number): 'acquired' | 'unreadable' | ProcessIdentity {
  const own = JSON.stringify(ownIdentity());
  const deadline = Date.now() + waitMs;
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    if (tryAcquire(path, own)) {
      HELD.add(path);
      return 'acquired';
    }
    const holder = readHolder(path);
    if (holder === 'gone') continue;
    if (isDead(path, holder) && breakLock(path, own)) continue;
    if (Date.now() >= deadline) return holder;
    Atomics.wait(PAUSE, 0, 0, pause);
  }
}

/**
 * A lock is made whole in one step, so one that cannot be read is what a power cut has left of it, or,
 * where there are no hard links, one that is being made just now.
 */
function isDead(path: string, holder: ProcessIdentity | 'unreadable'): boolean {
  if (holder !== 'unreadable') return !isAlive(holder) || isLeftByUs(path, holder);
  const stat = fs.statSync(path, { throwIfNoEntry: false });
  return stat !== undefined && Date.now() - stat.mtimeMs > UNREADABLE_MS;
}

/** Reports whether a lock is our own that we could not remove when we let go of it. */
function isLeftByUs(path: string, { pid, start, boot }: ProcessIdentity): boolean {
  const own = ownIdentity();
  return pid === own.pid && start === own.start && boot === own.boot && !HELD.has(path);
}

/** How old a lock that cannot be read must be to be taken for dead. */
const UNREADABLE_MS = 60_000;

const PAUSE = new Int32Array(new SharedArrayBuffer(4));

/**
 * Makes the lock's file whole and in one step: written beside it first, then linked, so that nobody
 * ever reads a lock without its holder.
 */
function tryAcquire(path: string, own: string): boolean {
  const draft = `${path}.${process.pid}`;
  writeNew(draft, own);
  try {
    fs.linkSync(draft, path);
    return true;
  } catch (error) {
    if (isErrno(error, 'EEXIST')) return false;
    // No hard links here (FAT, some network systems): exclusive creation is the next best.
    if (!isErrno(error, 'EPERM', 'ENOTSUP', 'ENOSYS', 'EMLINK')) throw error;
    return tryCreate(path, own);
  } finally {
    fs.rmSync(draft, { force: true });
  }
}

/** What stands there is of a process with this pid that was killed, or not ours at all. */
function writeNew(path: string, text: string): void {
  fs.rmSync(path, { force: true });
  fs.writeFileSync(path, text, { mode: PRIVATE_FILE, flag: 'wx' });
}

function tryCreate(path: string, own: string): boolean {
  try {
    fs.writeFileSync(path, own, { mode: PRIVATE_FILE, flag: 'wx' });
    return true;
  } catch (error) {
    if (isErrno(error, 'EEXIST')) return false;
    throw error;
  }
}

function readHolder(path: string): ProcessIdentity | 'gone' | 'unreadable' {
  let text: string;
  try {
    text = fs.readFileSync(path, 'utf8');
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return 'gone';
    throw error;
  }
  const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), ProcessIdentitySchema), text);
  return parsed.success ? parsed.output : 'unreadable';
}

/**
 * Removes a dead holder's lock; false where somebody else is doing that just now.
 *
 * Two processes may find the same dead lock, and the second must not remove the new lock of the first.
 * So only one at a time breaks, and looks again before it does.
 *
 * RACE: if that one is killed in between, its own lock is broken without such care; worst case two
 * processes hold the lock at once, after a kill within these few calls and a race for what it left.
 */
function breakLock(path: string, own: string): boolean {
  const breaking = `${path}.breaking`;
  if (!tryAcquire(breaking, own)) {
    const breaker = readHolder(breaking);
    if (breaker !== 'gone' && isDead(breaking, breaker)) fs.rmSync(breaking, { force: true });
    return false;
  }
  try {
    const holder = readHolder(path);
    if (holder !== 'gone' && isDead(path, holder)) fs.rmSync(path, { force: true });
    return true;
  } finally {
    fs.rmSync(breaking, { force: true });
  }
}
