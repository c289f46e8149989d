import { lstatSync } from 'node:fs';
import { sep } from 'node:path';
import type { ChokidarOptions, FSWatcher } from 'chokidar';
import { errnoOf, isErrno } from '../core/problem.js';
import { waitAtMost } from './deadline.js';
import { cookieName, makeLocator } from './locate.js';
import {
  STOP_DEADLINE_MS,
  type WatchEventKind,
  type Watcher,
  type WatchListener,
  type WatchOptions,
  WatchStartError,
} from './watcher.js';

/**
 * Starts watching with chokidar 5: pure JavaScript, one watch a file, so for small trees only.
 *
 * Rejects with `WatchStartError` only. Its cookies are unordered: each directory and file has its own
 * watch, and events wait for an `lstat` of their own.
 */
export async function startChokidar(
  options: WatchOptions,
  listener: WatchListener,
): Promise<Watcher> {
  if (sep === '/' && `${options.root}${options.cookieDir}`.includes('\\')) {
    throw new WatchStartError('failed', 'Chokidar cannot watch a path with a backslash.');
  }
  if (inodeOf(options.root) === undefined) {
    throw new WatchStartError('gone', `${options.root} is not there.`);
  }
  const { watch } = await loadChokidar();
  const locate = makeLocator(options);
  let stopped = false;

  // One trouble is told once: with no watches left there is one for each new file.
  const told = new Set<string>();
  const trouble = (reason: string): void => {
    if (stopped || told.has(reason)) return;
    told.add(reason);
    listener.onTrouble(reason);
  };

  const inode = inodeOf(options.root);
  const root = watch(options.root, {
    ...SETTINGS,
    ignored: (path) => locate(path).kind === 'unreported',
  });
  root.on('all', (name, absolute) => {
    const location = locate(absolute);
    const kind = KINDS.get(name);
    if (stopped || kind === undefined || location.kind === 'unreported') return;
    if (location.kind === 'root' && kind === 'delete') trouble(ROOT_GONE);
    const path = location.kind === 'root' ? '' : location.path;
    listener.onEvents([{ kind, path, at: Date.now() }]);
  });
  // Chokidar says nothing when an empty root is deleted or another directory takes its place.
  root.on('raw', (name) => {
    if (name === 'rename' && inodeOf(options.root) !== inode) trouble(ROOT_GONE);
  });

  const cookies = watch(options.cookieDir, { ...SETTINGS, depth: 0 });
  cookies.on('all', (name, absolute) => {
    const cookie = cookieName(options.cookieDir, absolute);
    if (!stopped && cookie !== undefined && KINDS.get(name) !== 'delete') options.onCookie(cookie);
  });

  const watchers = [root, cookies];
  for (const watcher of watchers) {
    watcher.on('error', (error) => {
      trouble(`The watcher failed: ${errnoOf(error) || String(error)}.`);
    });
  }

  let stopping: Promise<void> | undefined;
  const stop = (): Promise<void> => {
    stopped = true;
    stopping ??= closeAll(watchers);
    return stopping;
  };
  try {
    await allReady(watchers);
  } catch (error) {
    await stop();
    throw error;
  }
  return { backend: 'chokidar', stop };
}

/** Milliseconds; about 30,000 entries are ready within it. */
const READY_DEADLINE_MS = 2_000;

/** `atomic` would hold back a delete for 100 ms and turn it and a create into one change. */
const SETTINGS = {
  atomic: false,
  followSymlinks: false,
  ignoreInitial: true,
} satisfies ChokidarOptions;

const KINDS: ReadonlyMap<string, WatchEventKind> = new Map([
  ['add', 'create'],
  ['addDir', 'create'],
  ['change', 'update'],
  ['unlink', 'delete'],
  ['unlinkDir', 'delete'],
]);

const ROOT_GONE = 'The workspace itself was deleted or moved away.';

/** Says which directory stands at the root's path; nothing if none does. */
function inodeOf(root: string): string | undefined {
  const stat = lstatSync(root, { bigint: true, throwIfNoEntry: false });
  return stat === undefined ? undefined : `${stat.dev}:${stat.ino}`;
}

async function loadChokidar(): Promise<typeof import('chokidar')> {
  try {
    return await import('chokidar');
  } catch (cause) {
    throw new WatchStartError('missing', 'Chokidar cannot be loaded.', { cause });
  }
}

async function allReady(watchers: readonly FSWatcher[]): Promise<void> {
  const waited = await waitAtMost(Promise.all(watchers.map(ready)), READY_DEADLINE_MS);
  if (waited.kind === 'late') {
    throw new WatchStartError('late', `Chokidar was not ready within ${READY_DEADLINE_MS} ms.`);
  }
}

function ready(watcher: FSWatcher): Promise<void> {
  return new Promise((resolve, reject) => {
    watcher.once('ready', () => resolve());
    watcher.on('error', (cause) => {
      if (!isErrno(cause, 'ENOSPC', 'EMFILE', 'ENFILE')) return;
      reject(new WatchStartError('limit', `No watch is left: ${errnoOf(cause)}.`, { cause }));
    });
  });
}

async function closeAll(watchers: readonly FSWatcher[]): Promise<void> {
  const closing = watchers.map(async (watcher) => watcher.close());
  await waitAtMost(Promise.allSettled(closing), STOP_DEADLINE_MS);
}
