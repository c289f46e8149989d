import { rm } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { firstChoice, nextChoice, startWatcher } from '../../src/watch/choose.js';
import { watched } from './eventually.js';

const SMALL = { entries: 10, stampsTrusted: true };
const LARGE = { entries: 1_000_000, stampsTrusted: true };

test('parcel watches, whatever the size of the workspace', async () => {
  const setting = await watched();
  const started = await startWatcher(setting.options, setting.listener, LARGE);
  if (started.kind !== 'watching') throw new Error(started.reason);
  expect(started.watcher.backend).toBe('parcel');
  await started.watcher.stop();
});

test('chokidar watches where it is preferred', async () => {
  const setting = await watched();
  const started = await startWatcher(setting.options, setting.listener, {
    ...SMALL,
    prefer: 'chokidar',
  });
  if (started.kind !== 'watching') throw new Error(started.reason);
  expect(started.watcher.backend).toBe('chokidar');
  await started.watcher.stop();
});

test('nothing watches a network file system, and the reason says so', async () => {
  const setting = await watched();
  expect(
    await startWatcher(setting.options, setting.listener, { entries: 1, stampsTrusted: false }),
  ).toMatchObject({ kind: 'scan-only', reason: /file system/ });
});

test('a workspace that is gone is left to the scan, with a reason', async () => {
  const setting = await watched();
  await rm(setting.root, { recursive: true });
  expect(await startWatcher(setting.options, setting.listener, SMALL)).toMatchObject({
    kind: 'scan-only',
    reason: /is not there$/,
  });
});

test('chokidar never watches 20,000 entries, preferred or not', () => {
  const limits = { entries: 20_000, stampsTrusted: true };
  expect(firstChoice({ ...limits, prefer: 'chokidar' }).kind).toBe('scan-only');
  expect(nextChoice({ failed: 'parcel', why: 'missing', message: '' }, limits).kind).toBe(
    'scan-only',
  );
  expect(firstChoice({ ...limits, entries: 19_999, prefer: 'chokidar' })).toEqual({
    kind: 'try',
    backend: 'chokidar',
  });
});

test('only a missing parcel is followed by chokidar', () => {
  for (const why of ['missing', 'limit', 'gone', 'late', 'failed'] as const) {
    for (const failed of ['parcel', 'chokidar'] as const) {
      const next = nextChoice({ failed, why, message: 'It broke.' }, SMALL);
      expect(next.kind === 'try').toBe(failed === 'parcel' && why === 'missing');
    }
  }
});
