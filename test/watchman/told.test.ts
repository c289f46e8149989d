import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { lab } from '../support/cli.js';
import { testWith } from '../support/machine.js';
import { temporary, tree } from '../support/tree.js';
import { WATCHMAN, watchman } from '../support/watchman.js';

const SETTINGS = { '.preimage.json': '{ "scan": "watchman" }' };

testWith([WATCHMAN], 'status and show tell how a step was opened, without a warning', async () => {
  const server = await watchman();
  const shop = lab();
  tree(shop.root, { ...SETTINGS, 'a.txt': 'a' });
  const env = { WATCHMAN_SOCK: server.socket };
  const watch = ['watch', '--', 'sh', '-c', 'echo more >> a.txt'];
  const first = await shop.run(watch, { env });
  expect(first.stderr).not.toMatch(/warning/);
  const { stdout } = await shop.run(['show', 't1']);
  expect(stdout).toContain('every file was looked at: watchman has nothing to compare with yet\n');
  await shop.run(watch, { env });
  expect((await shop.run(['show', 't2'])).stdout).not.toContain('every file');
  expect((await shop.run(['status'])).stdout).toMatch(
    /^scan {7}watchman named [0-9]+ paths at the last open$/m,
  );
  const status = await shop.json<{ scan: object }>(['status']);
  expect(status.scan).toEqual({ by: 'watchman', named: expect.any(Number) });
  // What watchman writes for itself is nothing that came and went.
  expect((await shop.run(['show', 't2', '--timeline', '--all'])).stdout).not.toContain('cookie');
});

testWith([WATCHMAN], 'a watchman that does not run is started', async () => {
  const shop = lab();
  tree(shop.root, { ...SETTINGS, 'a.txt': 'a' });
  // Its state is kept below this, by its own choice.
  const env = { TMPDIR: temporary(), WATCHMAN_SOCK: '' };
  onTestFinished(() => {
    spawnSync('watchman', ['--no-spawn', 'shutdown-server'], { env: { ...process.env, ...env } });
  });
  for (let turns = 0; turns < 2; turns++) {
    expect((await shop.run(['watch', '--', 'true'], { env })).stderr).not.toMatch(/warning/);
  }
  const status = await shop.json<{ scan: object }>(['status']);
  expect(status.scan).toEqual({ by: 'watchman', named: expect.any(Number) });
});

test('where watchman cannot be used every command says so once, and does its work', async () => {
  const shop = lab();
  tree(shop.root, { ...SETTINGS, 'a.txt': 'a' });
  const env = { WATCHMAN_SOCK: path.join(temporary(), 'nobody') };
  const { code, stderr } = await shop.run(['watch', '--', 'sh', '-c', 'echo b > a.txt'], { env });
  expect(code).toBe(0);
  const why = 'every file was looked at: watchman cannot be reached: no such file or directory';
  expect(stderr.split('\n')[0]).toBe(`preimage: warning: ${why}`);
  expect(stderr.match(/warning/g)).toHaveLength(1);
  const status = await shop.json<{ scan: object }>(['status']);
  const reason = why.replace('every file was looked at: ', '');
  expect(status.scan).toEqual({ by: 'watchman', named: null, reason });
  await shop.run(['rewind']);
  expect(fs.readFileSync(path.join(shop.root, 'a.txt'), 'utf8')).toBe('a');
});

test('watchman is not asked unless the settings say so', async () => {
  const shop = lab();
  tree(shop.root, { 'a.txt': 'a' });
  const { stderr } = await shop.run(['watch', '--', 'true'], {
    env: { WATCHMAN_SOCK: path.join(temporary(), 'nobody') },
  });
  expect(stderr).not.toMatch(/watchman/);
  expect((await shop.json<{ scan: object }>(['status'])).scan).toEqual({ by: 'full' });
  fs.writeFileSync(path.join(shop.root, '.preimage.json'), '{ "scan": "sometimes" }');
  const wrong = await shop.run(['watch', '--', 'true']);
  expect(wrong.code).toBe(2);
  expect(wrong.stderr).toMatch(/scan: .*"full".*"watchman"/s);
});
