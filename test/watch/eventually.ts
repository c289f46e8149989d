import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { WatchEvent, WatchListener, WatchOptions } from '../../src/watch/watcher.js';

const DEADLINE_MS = 10_000;
const POLL_MS = 5;

/** Waits until the condition holds, and fails with its name if that takes longer than 10 s. */
export async function eventually(name: string, condition: () => boolean): Promise<void> {
  const end = performance.now() + DEADLINE_MS;
  while (!condition()) {
    if (performance.now() > end) throw new Error(`Not within ${DEADLINE_MS} ms: ${name}`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

/** What a watcher told, and all that it takes to start one. */
export type Watched = {
  readonly root: string;
  readonly options: WatchOptions;
  readonly listener: WatchListener;
  readonly events: WatchEvent[];
  readonly troubles: string[];
  readonly cookies: string[];
  /** The kinds that were told of a path, in order. */
  kindsOf(path: string): string[];
};

/** Makes an empty workspace beside a cookie directory, both removed after the test. */
export async function watched(
  more: Partial<Pick<WatchOptions, 'ignoreDirs' | 'isExcluded' | 'onCookie'>> = {},
  name = 'workspace',
): Promise<Watched> {
  const base = await realpath(await mkdtemp(join(tmpdir(), 'preimage-watch-')));
  onTestFinished(() => rm(base, { recursive: true, force: true }));
  const root = join(base, name);
  const cookieDir = join(base, 'cookies');
  await mkdir(root);
  await mkdir(cookieDir);
  const events: WatchEvent[] = [];
  const troubles: string[] = [];
  const cookies: string[] = [];
  return {
    root,
    events,
    troubles,
    cookies,
    options: {
      root,
      cookieDir,
      ignoreDirs: (more.ignoreDirs ?? []).map((dir) => join(root, dir)),
      isExcluded: more.isExcluded ?? (() => false),
      onCookie: more.onCookie ?? ((cookie) => cookies.push(cookie)),
    },
    listener: {
      onEvents: (batch) => events.push(...batch),
      onTrouble: (reason) => troubles.push(reason),
    },
    kindsOf: (path) => events.filter((event) => event.path === path).map(({ kind }) => kind),
  };
}
