import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { CLI, lab } from '../support/cli.js';
import { snapshot, tree } from '../support/tree.js';
import { expectProblem } from './problems.js';

test('while a step is open nothing is rewound: the turn and how to close it are named', async () => {
  const it = lab();
  tree(it.root, { 'a.txt': 'old' });
  await it.turn('echo new > a.txt', '--turn', 'done');
  expect((await it.run(['open', '--turn', 'busy', '--no-watch'])).code).toBe(0);
  const before = snapshot(it.root);
  const says = [/busy/, /preimage close --turn busy/];
  await expectProblem(it, ['rewind', 'done'], { code: 5, says });
  await expectProblem(it, ['rewind'], { code: 5, says });
  expect(snapshot(it.root)).toEqual(before);
  expect((await it.run(['close', '--turn', 'busy'])).code).toBe(0);
  expect((await it.run(['rewind', 'done'])).code).toBe(0);
  expect(fs.readFileSync(path.join(it.root, 'a.txt'), 'utf8')).toBe('old');
});

test('a redo waits as well while a step is open', async () => {
  const it = lab();
  await it.turn('echo new > a.txt', '--no-watch');
  await it.run(['rewind']);
  await it.run(['open', '--turn', 'busy', '--no-watch']);
  await expectProblem(it, ['redo'], { code: 5, says: [/busy/, /preimage close --turn busy/] });
  expect(fs.readdirSync(it.root)).toEqual([]);
});

test('a command cannot rewind the workspace that it is watched in', async () => {
  const it = lab();
  tree(it.root, { 'a.txt': 'old' });
  const rewind = `"${process.execPath}" "${CLI}" rewind --json`;
  const script = `echo new > a.txt; ${rewind}; echo $?`;
  const { stdout } = await it.turn(script, '--turn', 'outer', '--no-watch');
  expect(stdout).toMatch(/outer/);
  expect(stdout.trimEnd().split('\n').at(-1)).toBe('5');
  expect((await it.run(['rewind'])).code).toBe(0);
  expect(fs.readFileSync(path.join(it.root, 'a.txt'), 'utf8')).toBe('old');
});

test('a close with nothing open says so', async () => {
  const it = lab();
  await expectProblem(it, ['close', '--turn', 'x'], { code: 3, says: [/\bx\b|nothing/i] });
  await it.turn('echo a > a', '--turn', 'x', '--no-watch');
  await expectProblem(it, ['close', '--turn', 'x'], { code: 3, says: [/nothing is open/i] });
  await it.run(['open', '--turn', 'y', '--no-watch']);
  await expectProblem(it, ['close', '--turn', 'x'], { code: 3, says: [/nothing is open/i] });
  expect((await it.run(['close', '--turn', 'y'])).code).toBe(0);
  await expectProblem(it, ['close', '--turn', 'y'], { code: 3, says: [/nothing is open/i] });
});

test('a turn that does not exist is no such turn, to every command', async () => {
  const it = lab();
  await it.turn('echo a > a', '--no-watch');
  const out = path.join(it.home, 'out');
  for (const args of [
    ['show', 'nope'],
    ['diff', 'nope'],
    ['cat', 'nope', 'a'],
    ['rewind', 'nope'],
    ['rewind', 'nope', '--dry-run'],
    ['export', 'nope', '--out', out],
  ]) {
    await expectProblem(it, args, { code: 3, says: [/nope/, /preimage list/] });
  }
  expect(fs.readdirSync(it.root)).toEqual(['a']);
  expect(fs.existsSync(out)).toBe(false);
});

test('where nothing was recorded there is nothing to rewind and nothing to redo', async () => {
  const it = lab();
  tree(it.root, { 'a.txt': 'a' });
  for (const args of [['rewind'], ['redo'], ['show', 't1']]) {
    await expectProblem(it, args, { code: 3, says: [/\S/] });
  }
  expect(fs.existsSync(it.home)).toBe(false);
  expect(fs.readdirSync(it.root)).toEqual(['a.txt']);
});

test('what is rewound cannot be rewound again, and what is redone cannot be redone again', async () => {
  const it = lab();
  tree(it.root, { 'a.txt': 'old' });
  await it.turn('echo new > a.txt', '--no-watch');
  await expectProblem(it, ['redo'], { code: 3, says: [/no rewind|nothing/i] });
  expect((await it.run(['rewind', 't1'])).code).toBe(0);
  await expectProblem(it, ['rewind', 't1'], { code: 3, says: [/t1/, /rewound/, /preimage redo/] });
  await expectProblem(it, ['rewind'], { code: 3, says: [/no turn/i] });
  expect(fs.readFileSync(path.join(it.root, 'a.txt'), 'utf8')).toBe('old');
  expect((await it.run(['redo'])).code).toBe(0);
  await expectProblem(it, ['redo'], { code: 3, says: [/no rewind|nothing/i] });
  expect(fs.readFileSync(path.join(it.root, 'a.txt'), 'utf8')).toBe('new\n');
  expect((await it.run(['rewind', 't1'])).code).toBe(0);
  expect(fs.readFileSync(path.join(it.root, 'a.txt'), 'utf8')).toBe('old');
});

test('a turn whose rewind is taken back is there again, also if a later one found nothing left', async () => {
  const it = lab();
  tree(it.root, { dir: { 'a.txt': 'old' } });
  await it.turn('chmod 700 dir', '--turn', 'one', '--no-watch');
  await it.turn('rm -r dir; echo b > b.txt', '--turn', 'two', '--no-watch');
  const before = snapshot(it.root);
  // Path by path, and then the whole of it: nothing is left to do, and the turn is rewound.
  expect((await it.run(['rewind', 'two', 'dir', 'b.txt'])).code).toBe(0);
  expect(await it.json(['rewind', 'two'])).toMatchObject({ complete: true });
  expect(await it.json(['list'])).toMatchObject({ turns: [{ status: 'rewound' }, {}] });
  expect((await it.run(['redo'])).code).toBe(0);
  expect(snapshot(it.root)).toEqual(before);
  expect(await it.json(['list'])).toMatchObject({ turns: [{ status: 'closed' }, {}] });
  // So the rewind of an earlier turn takes it along.
  expect(await it.json(['rewind', 'one'])).toMatchObject({ turns: ['two', 'one'], complete: true });
  expect(fs.readdirSync(it.root)).toEqual(['dir']);
  expect(fs.readFileSync(path.join(it.root, 'dir/a.txt'), 'utf8')).toBe('old');
});
