import { spawn } from 'node:child_process';
import fs from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { CLI, type Lab, lab } from '../support/cli.js';
import { tree } from '../support/tree.js';
import { eventually } from '../watch/eventually.js';

test('without a command each path that settles is one line: how it stands beside how it stood', async () => {
  const it = project();
  const live = watch(it);
  await live.says(/watching; Ctrl-C closes it/);
  fs.appendFileSync(join(it.root, 'a.txt'), 'more');
  await live.says(/^M a\.txt {2}3 B → 7 B$/m);
  tree(it.root, { made: { 'x.txt': 'x' } });
  await live.says(/^A made\/x\.txt {2}1 B$/m);
  fs.writeFileSync(join(it.root, 'a.txt'), 'old');
  await live.says(/^= a\.txt {2}as before$/m);
  fs.rmSync(join(it.root, '.env'));
  await live.says(/^D \.env .*looks like a secret$/m);
  expect(await live.end()).toBe(0);
  expect(live.out()).toBe('');
  expect(live.err()).toMatch(/turn t1: 2 created, 1 deleted; undo: preimage rewind t1\n$/);
});

test('with --json each line is an event', async () => {
  const it = project();
  const live = watch(it, '--json');
  await live.says(/"event":"opened"/);
  fs.appendFileSync(join(it.root, 'a.txt'), 'more');
  await live.says(/"event":"change"/);
  expect(await live.end()).toBe(0);
  const lines = live
    .err()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(lines).toMatchObject([
    { event: 'opened', turn: 't1' },
    { event: 'change', path: 'a.txt', change: 'modified', asBefore: false },
    { event: 'closed', turn: 't1', status: 'closed', files: [{ path: 'a.txt' }] },
  ]);
});

test('--idle closes a turn whenever it was quiet so long, and opens the next', async () => {
  const it = project();
  const live = watch(it, '--idle', '1s');
  await live.says(/turn t1: watching/);
  fs.writeFileSync(join(it.root, 'a.txt'), 'first');
  await live.says(/turn t2: watching/);
  fs.writeFileSync(join(it.root, 'a.txt'), 'second');
  fs.writeFileSync(join(it.root, 'b.txt'), 'second');
  await live.says(/turn t3: watching/);
  expect(await live.end()).toBe(0);
  expect(await it.json(['list'])).toMatchObject({
    turns: [
      { turn: 't3', counts: { modified: 0, created: 0 } },
      { turn: 't2', counts: { modified: 1, created: 1 } },
      { turn: 't1', counts: { modified: 1, created: 0 } },
    ],
  });
  expect((await it.run(['rewind', 't2'])).code).toBe(0);
  expect(fs.readFileSync(join(it.root, 'a.txt'), 'utf8')).toBe('first');
});

test('where nothing watches that is said, and the turn is closed all the same', async () => {
  const it = project();
  const live = watch(it, '--no-watch', '--idle', '1s');
  await live.says(/nothing watches here.*--idle cannot tell/);
  fs.writeFileSync(join(it.root, 'a.txt'), 'new');
  expect(await live.end()).toBe(0);
  expect(live.err()).toMatch(/turn t1: 1 modified/);
});

test('options that need a command, or the other way round, are wrong usage', async () => {
  const it = project();
  for (const args of [
    ['--idle', '1s', '--', 'true'],
    ['--atomic'],
    ['--stop-on-deny'],
    ['--idle', '1s', '--turn', 'x'],
    ['--idle', 'soon'],
  ]) {
    const run = await it.run(['watch', ...args]);
    expect([args, run.code, run.stdout]).toEqual([args, 2, '']);
  }
});

function project(): Lab {
  const it = lab();
  tree(it.root, { 'a.txt': 'old', '.env': 'T=1' });
  return it;
}

function watch({ root, env }: Lab, ...options: string[]) {
  const child = spawn(process.execPath, [CLI, 'watch', ...options], { cwd: root, env });
  const text = { out: '', err: '' };
  child.stdout.on('data', (piece) => {
    text.out += piece;
  });
  child.stderr.on('data', (piece) => {
    text.err += piece;
  });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
  return {
    says: (pattern: RegExp) => eventually(`it says ${pattern}`, () => pattern.test(text.err)),
    out: () => text.out,
    err: () => text.err,
    end: () => {
      child.kill('SIGINT');
      return ended;
    },
  };
}
