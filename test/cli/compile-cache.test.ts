import fs from 'node:fs';
import module from 'node:module';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { lab } from '../support/cli.js';
import { type Need, testWith } from '../support/machine.js';
import { temporary } from '../support/tree.js';

const KEEPS_CODE: Need = {
  name: 'Node that keeps compiled code (22.8)',
  isHere: () => 'enableCompileCache' in module,
};
const ENABLED = { NODE_DISABLE_COMPILE_CACHE: undefined };

testWith(
  [KEEPS_CODE],
  'compiled code is kept beside the stores, where nobody else reaches it, and the next start says the same',
  async () => {
    const it = lab();
    await it.turn('echo new > a.txt');
    const before = await it.run(['list'], { env: ENABLED });
    const directory = join(it.home, 'code-cache');
    expect(fs.statSync(directory).mode & 0o777).toBe(0o700);
    const kept = fs.readdirSync(directory, { recursive: true }).length;
    expect(kept).toBeGreaterThan(3);
    expect(await it.run(['list'], { env: ENABLED })).toEqual(before);
    expect(fs.readdirSync(directory, { recursive: true }).length).toBe(kept);
    // A watcher host takes it as well, and the turn is as good as ever.
    const watched = await it.run(['watch', '--', 'sh', '-c', 'echo newer > a.txt'], {
      env: ENABLED,
    });
    expect(watched.code).toBe(0);
    expect(await it.run(['rewind'], { env: ENABLED })).toMatchObject({ code: 0, stderr: '' });
    expect(fs.readFileSync(join(it.root, 'a.txt'), 'utf8')).toBe('new\n');
  },
);

testWith([KEEPS_CODE], 'code that others might have put there is not run', async () => {
  const it = lab();
  await it.turn('echo new > a.txt');
  const directory = join(it.home, 'code-cache');
  fs.mkdirSync(directory);
  fs.chmodSync(directory, 0o777);
  expect(await it.run(['list'], { env: ENABLED })).toMatchObject({ code: 0, stderr: '' });
  expect(fs.readdirSync(directory)).toEqual([]);
  fs.rmdirSync(directory);
  const elsewhere = temporary();
  fs.symlinkSync(elsewhere, directory);
  expect(await it.run(['list'], { env: ENABLED })).toMatchObject({ code: 0, stderr: '' });
  expect(fs.readdirSync(elsewhere)).toEqual([]);
});

test('where no code can be kept a command works as well', async () => {
  const it = lab();
  const file = join(temporary(), 'a file');
  fs.writeFileSync(file, '');
  const env = { ...ENABLED, PREIMAGE_HOME: join(file, 'home'), PREIMAGE_STORE: join(it.home, 's') };
  const watched = await it.run(['watch', '--quiet', '--', 'sh', '-c', 'echo new > a.txt'], { env });
  expect(watched).toEqual({ code: 0, stdout: '', stderr: '' });
  const { stdout, ...rest } = await it.run(['list'], { env });
  expect(rest).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(/^t1 /);
});
