import type { SubscribeCallback } from '@parcel/watcher';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type StartLimits, startWatcher } from '../../src/watch/choose.js';
import { startParcel } from '../../src/watch/parcel.js';
import { STOP_DEADLINE_MS } from '../../src/watch/watcher.js';
import { LINUX, testWith } from '../support/machine.js';
import { eventually, type Watched, watched } from './eventually.js';

type Subscribe = typeof import('@parcel/watcher').subscribe;

/** A Parcel that does what the test says; it stands in for the real one in this file. */
const parcel = vi.hoisted(() => ({ subscribe: vi.fn<Subscribe>(), missing: false }));

vi.mock('@parcel/watcher', () => ({
  get default() {
    if (parcel.missing) throw new Error('No prebuild or local build of @parcel/watcher found.');
    return parcel;
  },
}));

/** Stands in for Node's own watcher, which tells whether an inotify instance is left. */
const watch = vi.hoisted(() => vi.fn(() => ({ close() {} })));

vi.mock('node:fs', async (original) => ({
  ...(await original<typeof import('node:fs')>()),
  watch,
}));

const LIMITS: StartLimits = { entries: 10, stampsTrusted: true };
const NO_SPACE = new Error("inotify_add_watch on '/w' failed: No space left on device");

const unsubscribe = vi.fn(async () => {});

beforeEach(() => {
  parcel.missing = false;
  parcel.subscribe.mockReset().mockImplementation(async () => ({ unsubscribe }));
  unsubscribe.mockReset().mockResolvedValue();
  watch.mockReset().mockReturnValue({ close() {} });
});

afterEach(() => {
  vi.useRealTimers();
});

test('without its binary chokidar watches a small workspace', async () => {
  parcel.missing = true;
  const setting = await watched();
  const started = await startWatcher(setting.options, setting.listener, LIMITS);
  if (started.kind !== 'watching') throw new Error(started.reason);
  expect(started.watcher.backend).toBe('chokidar');
  await started.watcher.stop();
});

test('without its binary nothing watches a workspace of 20,000 entries', async () => {
  parcel.missing = true;
  const setting = await watched();
  const started = await startWatcher(setting.options, setting.listener, {
    ...LIMITS,
    entries: 20_000,
  });
  expect(started).toMatchObject({ kind: 'scan-only', reason: /no watcher is installed/ });
});

test('at the limit of watches it gives back what it has and leaves the rest to the scan', async () => {
  parcel.subscribe.mockResolvedValueOnce({ unsubscribe }).mockRejectedValueOnce(NO_SPACE);
  const setting = await watched();
  const started = await startWatcher(setting.options, setting.listener, LIMITS);
  expect(started).toMatchObject({ kind: 'scan-only', reason: /no watch left/ });
  expect(unsubscribe).toHaveBeenCalledTimes(1);
});

testWith([LINUX], 'without an inotify instance it is never asked, for it would hang', async () => {
  watch.mockImplementation(() => {
    throw Object.assign(new Error('EMFILE: too many open files'), { code: 'EMFILE' });
  });
  const setting = await watched();
  const started = await startWatcher(setting.options, setting.listener, LIMITS);
  expect(started).toMatchObject({ kind: 'scan-only', reason: /max_user_instances/ });
  expect(parcel.subscribe).not.toHaveBeenCalled();
});

test('a directory that vanishes while it subscribes is tried again', async () => {
  parcel.subscribe.mockRejectedValueOnce(new Error('No such file or directory'));
  const setting = await watched();
  const watcher = await startParcel(setting.options, setting.listener);
  expect(parcel.subscribe).toHaveBeenCalledTimes(3);
  await watcher.stop();
});

test('what fails three times is given up', async () => {
  parcel.subscribe.mockRejectedValue(new Error('No such file or directory'));
  const setting = await watched();
  await expect(startParcel(setting.options, setting.listener)).rejects.toMatchObject({
    why: 'failed',
  });
  expect(parcel.subscribe).toHaveBeenCalledTimes(3);
});

test('a subscribing that hangs is given up, and undone if it comes late', async () => {
  let answer = (): void => {};
  parcel.subscribe.mockReturnValueOnce(
    new Promise((resolve) => {
      answer = () => resolve({ unsubscribe });
    }),
  );
  const setting = await watched();
  vi.useFakeTimers();
  const starting = startWatcher(setting.options, setting.listener, LIMITS);
  await vi.waitFor(() => expect(parcel.subscribe).toHaveBeenCalled());
  await vi.advanceTimersByTimeAsync(60_000);
  expect(await starting).toMatchObject({ kind: 'scan-only', reason: /did not answer/ });
  answer();
  await vi.waitFor(() => expect(unsubscribe).toHaveBeenCalledTimes(1));
});

test.each([
  ['hangs', () => new Promise<void>(() => {})],
  ['rejects', () => Promise.reject(new Error('Unable to remove watcher: Invalid argument'))],
])('a stop ends also when unsubscribing %s', async (_, unsubscribing) => {
  unsubscribe.mockImplementation(unsubscribing);
  const setting = await watched();
  const watcher = await startParcel(setting.options, setting.listener);
  vi.useFakeTimers();
  const stopping = watcher.stop();
  await vi.advanceTimersByTimeAsync(STOP_DEADLINE_MS);
  await expect(stopping).resolves.toBeUndefined();
});

/** Starts on the fake and gives the two callbacks that Parcel would call. */
async function startOnFake(setting: Watched) {
  const callbacks: SubscribeCallback[] = [];
  parcel.subscribe.mockImplementation(async (_, callback) => {
    callbacks.push(callback);
    return { unsubscribe };
  });
  const watcher = await startParcel(setting.options, setting.listener);
  const tell = (index: number, path: string): unknown =>
    callbacks[index]?.(null, [{ type: 'create', path }]);
  return {
    watcher,
    tellCookie: (name: string) => tell(0, `${setting.options.cookieDir}/${name}`),
    tellRoot: (name: string) => tell(1, `${setting.root}/${name}`),
    failRoot: (message: string) => callbacks[1]?.(new Error(message), []),
  };
}

test('an error of the backend is a trouble, and nothing is told after a stop', async () => {
  const setting = await watched();
  const { watcher, tellCookie, tellRoot, failRoot } = await startOnFake(setting);
  failRoot('Bad file descriptor');
  expect(setting.troubles).toEqual(['The watcher failed: Bad file descriptor.']);

  tellCookie('held');
  await watcher.stop();
  failRoot('again');
  tellRoot('late');
  tellCookie('late');
  vi.useFakeTimers();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(setting.troubles).toHaveLength(1);
  expect(setting.events).toEqual([]);
  expect(setting.cookies).toEqual([]);
});

test.each(['before', 'after'])(
  'a cookie that the backend tells %s the events of its batch is told after them',
  async (order) => {
    const seen: number[] = [];
    const setting = await watched({ onCookie: () => seen.push(setting.events.length) });
    const { watcher, tellCookie, tellRoot } = await startOnFake(setting);
    if (order === 'before') tellCookie('cookie');
    tellRoot('a');
    if (order === 'after') tellCookie('cookie');
    await eventually('cookie', () => seen.length > 0);
    expect(seen).toEqual([1]);
    await watcher.stop();
  },
);

test('a cookie with no events around it is told', async () => {
  const setting = await watched();
  const { watcher, tellCookie } = await startOnFake(setting);
  tellCookie('one');
  tellCookie('two');
  await eventually('cookies', () => setting.cookies.length === 2);
  await watcher.stop();
});
