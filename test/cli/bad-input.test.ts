import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { lab } from '../support/cli.js';
import { exec, file, snapshot, temporary, tree } from '../support/tree.js';
import { errorOf, expectProblem } from './problems.js';

test('a root that is missing is named and nothing is made in its place', async () => {
  const it = lab();
  const gone = path.join(it.root, 'gone');
  const says = [/ws\/gone/, /no such file/i];
  await expectProblem(it, ['list', '--root', gone], { code: 2, says });
  await expectProblem(it, ['watch', '--root', gone, '--', 'touch', 'ran'], { code: 2, says });
  expect(fs.readdirSync(it.root)).toEqual([]);
});

test('a root that is a file is refused', async () => {
  const it = lab();
  tree(it.root, { 'a.txt': 'a' });
  const args = ['--root', 'a.txt'];
  const says = [/a\.txt/, /director/];
  await expectProblem(it, ['status', ...args], { code: 2, says });
  await expectProblem(it, ['watch', ...args, '--', 'touch', 'ran'], { code: 2, says });
  expect(fs.readdirSync(it.root)).toEqual(['a.txt']);
});

test('the top of the file system is no workspace unless --allow-home insists', async () => {
  const it = lab();
  const says = [/--allow-home/];
  await expectProblem(it, ['watch', '--root', '/', '--', 'touch', `${it.root}/ran`], {
    code: 2,
    says,
  });
  await expectProblem(it, ['open', '--turn', 'x'], { code: 2, says, cwd: '/' });
  expect(fs.readdirSync(it.root)).toEqual([]);
});

test('the home directory is a workspace only with --allow-home', async () => {
  const it = lab();
  const env = { HOME: it.root };
  const watch = ['--', 'touch', 'ran'];
  await expectProblem(it, ['watch', ...watch], { code: 2, says: [/home/, /--allow-home/], env });
  expect(fs.readdirSync(it.root)).toEqual([]);
  const run = await it.run(['watch', '--allow-home', ...watch], { env });
  expect(run).toMatchObject({ code: 0 });
  expect(fs.readdirSync(it.root)).toEqual(['ran']);
});

test('a command that is not found ends with 127, and the step is closed', async () => {
  const it = lab();
  const run = await it.run(['watch', '--', 'no-such-command-here']);
  expect(run).toMatchObject({ code: 127, stdout: '' });
  expect(run.stderr).toContain('no-such-command-here');
  expect(await it.json(['list'])).toMatchObject({ turns: [{ turn: 't1', status: 'closed' }] });
});

test('a command that may not be executed ends with 126, and the step is closed', async () => {
  const it = lab();
  tree(it.root, { 'plain.sh': file('echo hello\n', 0o644), folder: {} });
  for (const command of ['./plain.sh', './folder']) {
    const run = await it.run(['watch', '--', command]);
    expect(run).toMatchObject({ code: 126, stdout: '' });
    expect(run.stderr).toContain(command);
  }
  const { turns } = await it.json<{ turns: object[] }>(['list']);
  expect(turns).toMatchObject([{ status: 'closed' }, { status: 'closed' }]);
});

test('the exit code of watch is the code of the command', async () => {
  const it = lab();
  tree(it.root, { 'fails.sh': exec('#!/bin/sh\necho out\necho err >&2\nexit 42\n') });
  const run = await it.run(['watch', '--quiet', '--', './fails.sh']);
  expect(run).toEqual({ code: 42, stdout: 'out\n', stderr: 'err\n' });
  expect(await it.json(['show', 't1'])).toMatchObject({ steps: [{ exitCode: 42 }] });
});

test.each(['', 'a b', 'a/b', '../up', 'ünïcode', 'new\nline', 'x'.repeat(129)])(
  'the turn id %j is refused',
  async (turn) => {
    const it = lab();
    const says = [/turn/i, /A-Z|letter/];
    await expectProblem(it, ['watch', `--turn=${turn}`, '--', 'touch', 'ran'], { code: 2, says });
    for (const command of ['open', 'close']) {
      expect(await it.run([command, `--turn=${turn}`])).toMatchObject({ code: 2, stdout: '' });
    }
    expect(fs.readdirSync(it.root)).toEqual([]);
  },
);

test('a turn id of 128 letters, digits, dots, lines, colons and dashes is taken', async () => {
  const it = lab();
  const turn = `-A:z_0.9${'x'.repeat(120)}`;
  await it.turn('echo a > a', `--turn=${turn}`);
  expect(await it.json(['list'])).toMatchObject({ turns: [{ turn }] });
  await it.turn('echo b > a', '--turn', '..');
  expect((await it.run(['rewind', '--', turn])).code).toBe(0);
  expect(fs.readdirSync(it.root)).toEqual([]);
});

test('wrong usage ends with 2 and names what is wrong', async () => {
  const it = lab();
  await it.turn('echo a > a');
  const before = snapshot(it.root);
  const calls: [string[], RegExp][] = [
    [['list', '--no-such-option'], /--no-such-option/],
    [['no-such-command'], /no-such-command/],
    [['show'], /turn/],
    [['open'], /--turn/],
    [['export', 't1'], /--out/],
    [['open', '--turn', 'x', '--max-file', 'huge'], /huge/],
    [['watch', '--no-such-option', '--', 'touch', 'ran'], /--no-such-option/],
  ];
  for (const [args, says] of calls) await expectProblem(it, args, { code: 2, says: [says] });
  expect(snapshot(it.root)).toEqual(before);
});

test('a path outside the workspace is wrong usage', async () => {
  const it = lab();
  await it.turn('echo a > a');
  const outside = temporary();
  tree(outside, { 'other.txt': 'other' });
  const says = [/outside/, /other\.txt/];
  for (const args of [
    ['rewind', 't1', path.join(outside, 'other.txt')],
    ['log', path.join(outside, 'other.txt')],
    ['diff', 't1', '../../../other.txt'],
  ]) {
    await expectProblem(it, args, { code: 2, says });
  }
  expect(fs.readFileSync(path.join(outside, 'other.txt'), 'utf8')).toBe('other');
  expect(fs.readFileSync(path.join(it.root, 'a'), 'utf8')).toBe('a\n');
});

test('a wrong field in .preimage.json is named, and the command is not run', async () => {
  const it = lab();
  const settings = path.join(it.root, '.preimage.json');
  const wrong: [string, RegExp][] = [
    ['{ "exclude": "dist" }', /exclude/],
    ['{ "include": [1] }', /include/],
    ['{ "maxFile": "huge" }', /maxFile/],
    ['{ "maxFile": -1 }', /maxFile/],
    ['{ "budget": "soon" }', /budget: a duration is a text such as .*"10s"/],
    ['{ "budget": 10 }', /budget/],
    ['{ "maxfile": 10 }', /maxfile/],
    ['{ "maxFile": ', /JSON/],
    ['[]', /bject/],
  ];
  for (const [text, field] of wrong) {
    fs.writeFileSync(settings, text);
    const says = [/\.preimage\.json/, field];
    const run = await it.run(['watch', '--', 'touch', 'ran']);
    expect({ text, ...run }).toMatchObject({ code: 2, stdout: '' });
    for (const part of says) expect(run.stderr).toMatch(part);
  }
  await expectProblem(it, ['open', '--turn', 'x'], { code: 2, says: [/\.preimage\.json/] });
  expect(fs.readdirSync(it.root)).toEqual(['.preimage.json']);
});

test('an option of the command is the command’s, not ours', async () => {
  const it = lab();
  tree(it.root, { file: 'no directory' });
  const store = ['--store', path.join(it.root, 'file', 'store')];
  const run = await it.run(['watch', ...store, '--', 'tool', '--json']);
  expect(run).toMatchObject({ code: 125, stdout: '' });
  expect(run.stderr).toMatch(/^preimage: /);
  const asked = await it.run(['watch', '--json', ...store, '--', 'tool']);
  expect(errorOf('watch', asked)).toMatchObject({ message: expect.stringContaining('store') });
  expect((await it.run(['watch', '--', 'echo', '--quiet', '--help'])).stdout).toBe(
    '--quiet --help\n',
  );
});

test('a rewind of paths that nothing has changed says so with 3 and records nothing', async () => {
  const it = lab();
  tree(it.root, { 'a.txt': 'a', 'b.txt': 'b' });
  await it.turn('echo new > a.txt');
  const { store } = await it.json<{ store: string }>(['status']);
  const log = fs.readFileSync(path.join(store, 'log'));
  const says = [/b\.txt, nosuch/, /turn t1/, /preimage show t1/];
  await expectProblem(it, ['rewind', 't1', 'b.txt', 'nosuch'], { code: 3, says });
  await expectProblem(it, ['rewind', '--dry-run', 't1', 'b.txt', 'nosuch'], { code: 3, says });
  expect(fs.readFileSync(path.join(store, 'log'))).toEqual(log);
  // One that was changed is put back, whatever else is named.
  expect((await it.run(['rewind', 't1', 'nosuch', 'a.txt'])).code).toBe(0);
  expect(fs.readFileSync(path.join(it.root, 'a.txt'), 'utf8')).toBe('a');
});
