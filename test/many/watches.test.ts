import { spawn } from 'node:child_process';
import fs from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { CLI, type Lab, lab } from '../support/cli.js';
import { snapshot, tree } from '../support/tree.js';
import { eventually } from '../watch/eventually.js';

test('two watches at once, one of them below: each has its own turn, names the other, and leaves its work alone', async () => {
  const it = lab();
  tree(it.root, { both: 'old\n', mine: 'old\n', sub: { theirs: 'old\n', made: {} } });
  // The store is made by the first: what is started below then finds it.
  await it.turn('true', '--turn', 'zero', '--no-watch');
  const before = snapshot(it.root);
  const one = await start(it, ['--turn', 'one'], {
    first: 'echo one > mine; echo one > both',
    after: 'echo one > late',
  });
  const two = await start(it, ['--turn', 'two'], {
    cwd: join(it.root, 'sub'),
    first: 'echo two > theirs; echo two > ../both; rmdir made',
    after: 'true',
  });
  await expectBusy(it);
  await one.goOn();
  await expectBusy(it);
  await two.goOn();
  expect(await touched(it, 'one')).toEqual(['both', 'late', 'mine', 'sub/made', 'sub/theirs']);
  expect(await touched(it, 'two')).toEqual(['both', 'late', 'sub/made', 'sub/theirs']);
  expect((await it.run(['show', 'one'])).stdout).toMatch(/at the same time: two/);
  expect((await it.run(['show', 'two'])).stdout).toMatch(/at the same time: one/);
  const after = snapshot(it.root);
  // All that two did lies in one's time as well: whose it was, nobody can say.
  const run = await it.run(['rewind', 'two', '--json']);
  expect(run.code).toBe(1);
  const { turns, outcomes } = JSON.parse(run.stdout);
  expect(turns).toEqual(['two']);
  for (const { outcome, reason } of outcomes) {
    expect([outcome, reason]).toEqual(['conflict', expect.stringContaining('turn one')]);
  }
  expect(snapshot(it.root)).toEqual(after);
  // What one did before two began is its own.
  expect((await it.run(['rewind', 'one', '--json'])).stdout).toMatch(/"mine".*?"restored"/s);
  expect(fs.readFileSync(join(it.root, 'sub/theirs'), 'utf8')).toBe('two\n');
  expect((await it.run(['rewind', 'two', '--force'])).code).toBe(0);
  expect((await it.run(['rewind', 'one', '--force'])).code).toBe(0);
  expect(snapshot(it.root)).toEqual(before);
});

test('a session’s earlier and later commands stay whole when another session is undone', async () => {
  const it = lab();
  tree(it.root, { a: 'old\n', b: 'old\n' });
  // Two agents take turns with their commands, each under one turn id.
  for (const [turn, script] of [
    ['agent-b', 'echo 1 > b'],
    ['agent-a', 'echo 1 > a'],
    ['agent-b', 'echo 2 > b; echo 2 > b2'],
    ['agent-a', 'echo 2 > a; echo 2 > a2'],
    ['agent-b', 'echo 3 > b; echo 3 > b3'],
  ] as const) {
    await it.turn(script, '--turn', turn, '--no-watch');
  }
  expect(await it.json(['rewind', 'agent-a'])).toMatchObject({
    turns: ['agent-a'],
    complete: true,
  });
  const text = (name: string): string => fs.readFileSync(join(it.root, name), 'utf8');
  expect(fs.readdirSync(it.root)).toEqual(['a', 'b', 'b2', 'b3']);
  expect([text('a'), text('b'), text('b3')]).toEqual(['old\n', '3\n', '3\n']);
  // And the other way round: what was undone before stays undone.
  expect(await it.json(['rewind', 'agent-b'])).toMatchObject({
    turns: ['agent-b'],
    complete: true,
  });
  expect(fs.readdirSync(it.root)).toEqual(['a', 'b']);
  expect([text('a'), text('b')]).toEqual(['old\n', 'old\n']);
  expect(await it.json(['list'])).toMatchObject({
    turns: [{ status: 'rewound' }, { status: 'rewound' }],
  });
  // One redo brings back one of them.
  expect((await it.run(['redo'])).code).toBe(0);
  expect(await it.json(['list'])).toMatchObject({
    turns: [
      { turn: 'agent-a', status: 'rewound' },
      { turn: 'agent-b', status: 'closed' },
    ],
  });
  expect([text('a'), text('b')]).toEqual(['old\n', '3\n']);
});

async function expectBusy(it: Lab): Promise<void> {
  const before = snapshot(it.root);
  const run = await it.run(['rewind', 'zero']);
  expect([run.code, run.stdout]).toEqual([5, '']);
  expect(run.stderr).toMatch(/still open/);
  expect(snapshot(it.root)).toEqual(before);
}

async function touched(it: Lab, turn: string): Promise<string[]> {
  const { files } = await it.json<{ files: { path: string }[] }>(['show', turn]);
  return files.map(({ path }) => path);
}

/** Starts a watch whose command does the first part, then the second one when it is told to go on. */
async function start(
  it: Lab,
  options: readonly string[],
  { cwd = it.root, first, after }: { cwd?: string; first: string; after: string },
): Promise<{ readonly goOn: () => Promise<void> }> {
  const script = `${first}; echo ready; read line; ${after}`;
  const words = [CLI, 'watch', '--no-watch', ...options, '--', 'sh', '-c', script];
  const child = spawn(process.execPath, words, { cwd, env: it.env });
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  let said = '';
  child.stdout.on('data', (data: Buffer) => {
    said += data.toString();
  });
  await eventually('the command has done its first part', () => said.includes('ready'));
  return {
    goOn: async () => {
      child.stdin.end('\n');
      expect(await ended).toBe(0);
    },
  };
}
