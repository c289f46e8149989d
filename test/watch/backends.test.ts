import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { startChokidar } from '../../src/watch/chokidar.js';
import { startParcel } from '../../src/watch/parcel.js';
import type { Watcher } from '../../src/watch/watcher.js';
import { eventually, type Watched, watched } from './eventually.js';

const STARTERS = { parcel: startParcel, chokidar: startChokidar };

describe.each(['parcel', 'chokidar'] as const)('%s', (backend) => {
  async function start(setting: Watched): Promise<Watcher> {
    const watcher = await STARTERS[backend](setting.options, setting.listener);
    onTestFinished(() => watcher.stop());
    return watcher;
  }

  /** Waits until the watcher has caught up with what was done so far. */
  async function drain(setting: Watched, name: string): Promise<void> {
    await writeFile(join(setting.options.cookieDir, name), '');
    await eventually(`cookie ${name}`, () => setting.cookies.includes(name));
  }

  test('tells what is created, updated and deleted, relative to the root', async () => {
    const setting = await watched();
    await mkdir(join(setting.root, 'dir'));
    await writeFile(join(setting.root, 'dir/old.txt'), 'old');
    const watcher = await start(setting);
    expect(watcher.backend).toBe(backend);

    await writeFile(join(setting.root, 'new.txt'), 'new');
    await eventually('create', () => setting.kindsOf('new.txt').includes('create'));
    await writeFile(join(setting.root, 'dir/old.txt'), 'newer');
    await eventually('update', () => setting.kindsOf('dir/old.txt').includes('update'));
    await rm(join(setting.root, 'dir/old.txt'));
    await eventually('delete', () => setting.kindsOf('dir/old.txt').includes('delete'));

    expect(setting.troubles).toEqual([]);
    for (const { at } of setting.events) expect(Math.abs(Date.now() - at)).toBeLessThan(60_000);
  });

  test('sees a cookie and never reports it as an event', async () => {
    const setting = await watched();
    await start(setting);
    await drain(setting, 'cookie-1');
    await drain(setting, 'cookie-2');
    expect(setting.events).toEqual([]);
  });

  test('a cookie directory in the workspace is seen and not reported', async () => {
    const plain = await watched({ ignoreDirs: ['.store'] });
    const cookieDir = join(plain.root, '.store/control');
    await mkdir(cookieDir, { recursive: true });
    const setting = { ...plain, options: { ...plain.options, cookieDir } };
    await start(setting);
    await drain(setting, 'cookie');
    await writeFile(join(setting.root, 'mark'), '');
    await eventually('mark', () => setting.kindsOf('mark').length > 0);
    expect(setting.events.filter(({ path }) => path !== 'mark')).toEqual([]);
  });

  test('is silent about ignored directories and excluded paths, brackets in names or not', async () => {
    const setting = await watched(
      {
        ignoreDirs: ['node_modules', 'pages/[slug]'],
        isExcluded: (path) => path.endsWith('.log'),
      },
      '[app]',
    );
    await mkdir(join(setting.root, 'node_modules/a'), { recursive: true });
    await mkdir(join(setting.root, 'pages/[slug]'), { recursive: true });
    await start(setting);

    await writeFile(join(setting.root, 'node_modules/a/index.js'), '');
    await writeFile(join(setting.root, 'pages/[slug]/page.js'), '');
    await writeFile(join(setting.root, 'debug.log'), '');
    await writeFile(join(setting.root, 'pages/seen.js'), '');
    await eventually('seen.js', () => setting.kindsOf('pages/seen.js').length > 0);
    await drain(setting, 'cookie');
    expect(new Set(setting.events.map(({ path }) => path))).toEqual(new Set(['pages/seen.js']));
  });

  test.each([
    ['deleted', (root: string) => rm(root, { recursive: true })],
    ['moved away', (root: string) => rename(root, `${root}-2`)],
    [
      'replaced',
      async (root: string) => {
        await rename(root, `${root}-2`);
        await mkdir(root);
      },
    ],
  ])('tells of trouble when the workspace itself is %s, empty or not', async (_, act) => {
    for (const names of [[], ['file']]) {
      const setting = await watched();
      for (const name of names) await writeFile(join(setting.root, name), '');
      await start(setting);
      await act(setting.root);
      await eventually('trouble', () => setting.troubles.length > 0);
      expect(setting.troubles[0]).toContain('deleted or moved away');
    }
  });

  test('can be stopped twice, also with the workspace gone, and tells nothing afterwards', async () => {
    const setting = await watched();
    const other = await watched();
    const watcher = await start(setting);
    const witness = await STARTERS[backend](other.options, other.listener);
    await Promise.all([watcher.stop(), watcher.stop()]);
    await watcher.stop();

    await writeFile(join(setting.root, 'late.txt'), '');
    await writeFile(join(other.root, 'late.txt'), '');
    await eventually('witness', () => other.kindsOf('late.txt').length > 0);
    expect(setting.events).toEqual([]);

    await rm(other.root, { recursive: true });
    await expect(witness.stop()).resolves.toBeUndefined();
  });
});

test('parcel tells nothing after a cookie that happened before it', async () => {
  const counts: number[] = [];
  const setting = await watched({ onCookie: () => counts.push(setting.events.length) });
  const watcher = await startParcel(setting.options, setting.listener);
  onTestFinished(() => watcher.stop());

  for (let round = 1; round <= 10; round++) {
    for (let i = 0; i < 20; i++) await writeFile(join(setting.root, `${round}-${i}`), '');
    for (const cookie of [`first-${round}`, `second-${round}`]) {
      const told = counts.length;
      await writeFile(join(setting.options.cookieDir, cookie), '');
      await eventually(cookie, () => counts.length > told);
    }
    const [first, second] = counts.slice(-2);
    expect(first).toBe(second);
    expect(first).toBeGreaterThan((round - 1) * 20);
  }
});

test.each(Object.entries(STARTERS))('%s says that a workspace is gone', async (_, starter) => {
  const setting = await watched();
  await rm(setting.root, { recursive: true });
  await expect(starter(setting.options, setting.listener)).rejects.toMatchObject({
    name: 'WatchStartError',
    why: 'gone',
  });
});
