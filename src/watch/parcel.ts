import { lstatSync, watch } from 'node:fs';
import { relative } from 'node:path';
import type { AsyncSubscription, BackendType, Event, SubscribeCallback } from '@parcel/watcher';
import { isErrno } from '../core/problem.js';
import { holdCookies } from './cookie-hold.js';
import { waitAtMost } from './deadline.js';
import { cookieName, makeLocator, slashed } from './locate.js';
import {
  STOP_DEADLINE_MS,
  type WatchEvent,
  type Watcher,
  type WatchListener,
  type WatchOptions,
  WatchStartError,
} from './watcher.js';

/**
 * Starts watching with `@parcel/watcher`: one watch a directory on Linux.
 *
 * Rejects with `WatchStartError` only. It loses events without saying so: queue overflow, files in
 * new directories, and some of every long burst, for it empties its list while its other thread still
 * adds to it. What is created and deleted within one batch (50 ms, at most 500 ms) it never tells.
 * It must not run on a worker thread, where it aborts the process.
 */
export async function startParcel(
  options: WatchOptions,
  listener: WatchListener,
): Promise<Watcher> {
  const parcel = await loadParcel();
  const backend = nativeBackend();
  probeInotify(options.cookieDir);
  const cookies = holdCookies(options.onCookie);
  const locate = makeLocator(options);
  let stopped = false;

  const onCookieEvents: SubscribeCallback = (error, events) => {
    if (stopped) return;
    if (error !== null) listener.onTrouble(`The watcher of the cookies failed: ${error.message}.`);
    for (const event of events) {
      const name = cookieName(options.cookieDir, event.path);
      if (name !== undefined && event.type !== 'delete') cookies.hold(name);
    }
  };
  const onRootEvents: SubscribeCallback = (error, events) => {
    if (stopped) return;
    if (error !== null) listener.onTrouble(`The watcher failed: ${error.message}.`);
    if (events.some((event) => event.type === 'delete' && locate(event.path).kind === 'root')) {
      listener.onTrouble('The workspace itself was deleted or moved away.');
    }
    const told = toEvents(events, locate);
    if (told.length > 0) listener.onEvents(told);
    cookies.batchTold();
  };

  const subscriptions: AsyncSubscription[] = [];
  let stopping: Promise<void> | undefined;
  const stop = (): Promise<void> => {
    stopped = true;
    cookies.drop();
    stopping ??= unsubscribeAll(subscriptions);
    return stopping;
  };
  const ignore = ignorable(options);
  try {
    // Subscribed last is told first, mostly: the root's events before the cookie.
    for (const [dir, callback, settings] of [
      [options.cookieDir, onCookieEvents, { backend }],
      [options.root, onRootEvents, { backend, ignore }],
    ] as const) {
      subscriptions.push(await subscribe(dir, () => parcel.subscribe(dir, callback, settings)));
    }
  } catch (error) {
    // Half a subscription keeps the user's watches and this process; both are given back.
    await stop();
    throw error;
  }
  return { backend: 'parcel', stop };
}

type Parcel = typeof import('@parcel/watcher');

const SUBSCRIBE_TRIES = 3;

/** Milliseconds; 52,000 entries took 160 ms. */
const SUBSCRIBE_DEADLINE_MS = 10_000;

/** Loads Parcel; rejects with `WatchStartError` where there is none for this platform. */
export async function loadParcel(): Promise<Parcel> {
  try {
    return (await import('@parcel/watcher')).default;
  } catch (cause) {
    throw new WatchStartError('missing', 'Parcel has no binary for this platform.', { cause });
  }
}

/** Names the backend, for Parcel would pick watchman where that happens to run. */
function nativeBackend(): BackendType {
  switch (process.platform) {
    case 'linux':
      return 'inotify';
    case 'darwin':
      return 'fs-events';
    case 'win32':
      return 'windows';
    default:
      throw new WatchStartError('missing', `Parcel does not watch on ${process.platform}.`);
  }
}

/**
 * Makes sure that the system has an inotify instance left: without one Parcel blocks the whole
 * process for good, timers included. Node's own watcher throws, and keeps its instance as long as the
 * process lives.
 *
 * RACE: somebody takes the last instance in between; the worst case is a process that hangs and that
 * its parent ends.
 */
function probeInotify(dir: string): void {
  if (process.platform !== 'linux') return;
  try {
    watch(dir).close();
  } catch (cause) {
    throw toStartError(cause, dir);
  }
}

/**
 * Gives the directories that Parcel can be told literally. It takes any path with glob characters for
 * a glob, the root's own included (`/home/me/[app]/node_modules` was watched), so they are relative;
 * one that still looks like a glob is watched, and its events are dropped.
 */
function ignorable({ root, ignoreDirs }: WatchOptions): string[] {
  return ignoreDirs
    .map((dir) => slashed(relative(root, dir)))
    .filter((path) => path !== '' && !path.startsWith('../') && !GLOB_CHARACTERS.test(path));
}

const GLOB_CHARACTERS = /[*?![\](){}|\\]/;

function toEvents(
  events: readonly Event[],
  locate: ReturnType<typeof makeLocator>,
): readonly WatchEvent[] {
  const at = Date.now();
  const told: WatchEvent[] = [];
  for (const { type, path } of events) {
    const location = locate(path);
    if (location.kind === 'inside') told.push({ kind: type, path: location.path, at });
    if (location.kind === 'root') told.push({ kind: type, path: '', at });
  }
  return told;
}

/**
 * Subscribes. A directory that vanishes during Parcel's own walk fails the whole, and what its errors
 * say is no guide (a missing root reads `Bad file descriptor`), so all but the limit is tried again.
 */
async function subscribe(
  dir: string,
  attempt: () => Promise<AsyncSubscription>,
): Promise<AsyncSubscription> {
  for (let tries = 1; ; tries++) {
    const pending = attempt();
    try {
      const waited = await waitAtMost(pending, SUBSCRIBE_DEADLINE_MS);
      if (waited.kind === 'done') return waited.value;
    } catch (error) {
      const failure = toStartError(error, dir);
      if (failure.why === 'limit' || tries === SUBSCRIBE_TRIES) throw failure;
      continue;
    }
    pending.then(unsubscribe).catch(() => {});
    throw new WatchStartError('late', `Parcel did not answer in ${SUBSCRIBE_DEADLINE_MS} ms.`);
  }
}

function toStartError(cause: unknown, dir: string): WatchStartError {
  const text = cause instanceof Error ? cause.message : String(cause);
  // Parcel sets no code: the words are the C library's.
  if (
    isErrno(cause, 'ENOSPC', 'EMFILE', 'ENFILE') ||
    /No space left on device|Too many open files/.test(text)
  ) {
    return new WatchStartError('limit', text, { cause });
  }
  if (lstatSync(dir, { throwIfNoEntry: false }) === undefined) {
    return new WatchStartError('gone', `${dir} is not there.`, { cause });
  }
  return new WatchStartError('failed', text, { cause });
}

/** Unsubscribing throws when the root is gone already; then there is nothing left to give back. */
async function unsubscribe(subscription: AsyncSubscription): Promise<void> {
  await subscription.unsubscribe();
}

async function unsubscribeAll(subscriptions: readonly AsyncSubscription[]): Promise<void> {
  await waitAtMost(Promise.allSettled(subscriptions.map(unsubscribe)), STOP_DEADLINE_MS);
}
