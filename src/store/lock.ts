import fs from 'node:fs';
import { join } from 'node:path';
import * as v from 'valibot';
import { isErrno, PreimageError } from '../core/problem.js';
import { type ProcessIdentity, ProcessIdentitySchema } from '../core/records.js';
import { PRIVATE_FILE } from '../files/durable.js';
import { isAlive, ownIdentity } from '../files/process-identity.js';

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
  const who = holder === 'unreadable' ? 'an unknown process' : `process ${holder.pid}`;
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
    fs.rmSync(path, { force: true });
  }
}

function acquire(path: string, waitMs: number): 'acquired' | 'unreadable' | ProcessIdentity {
  const own = JSON.stringify(ownIdentity());
  const deadline = Date.now() + waitMs;
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    if (tryAcquire(path, own)) return 'acquired';
    const holder = readHolder(path);
    if (holder === 'gone') continue;
    if (holder !== 'unreadable' && !isAlive(holder)) {
      breakLock(path, holder);
      continue;
    }
    if (Date.now() >= deadline) return holder;
    Atomics.wait(PAUSE, 0, 0, pause);
  }
}

const PAUSE = new Int32Array(new SharedArrayBuffer(4));

/**
 * Makes the lock's file whole and in one step: written beside it first, then linked, so that nobody
 * ever reads a lock without its holder.
 */
function tryAcquire(path: string, own: string): boolean {
  const draft = `${path}.${process.pid}`;
  fs.writeFileSync(draft, own, { mode: PRIVATE_FILE });
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
 * Removes a dead holder's lock.
 *
 * RACE: two processes may find the same dead lock; the second could remove the first one's new lock.
 * So the lock is renamed away first and looked at again: if it is not the dead one, it is put back.
 */
function breakLock(path: string, dead: ProcessIdentity): void {
  const aside = `${path}.${process.pid}.dead`;
  try {
    fs.renameSync(path, aside);
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return;
    throw error;
  }
  const found = readHolder(aside);
  const isDead =
    typeof found !== 'string' &&
    found.pid === dead.pid &&
    found.start === dead.start &&
    found.boot === dead.boot;
  if (!isDead) {
    try {
      fs.linkSync(aside, path);
    } catch (error) {
      if (!isErrno(error, 'EEXIST')) throw error;
    }
  }
  fs.rmSync(aside, { force: true });
}
