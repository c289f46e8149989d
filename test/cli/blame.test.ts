import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { openTurn } from '../../src/index.js';
import { type Lab, lab } from '../support/cli.js';
import { symlink, temporary, tree } from '../support/tree.js';
import { type Bench, bench } from '../support/turns.js';
import { expectProblem } from './problems.js';

test('each line is told with the turn that last wrote it, or that it was there before', async () => {
  const at = bench({ 'a.txt': 'one\ntwo\nthree\n' });
  await at.turn('t1', () => at.write({ 'a.txt': 'one\n2\nthree\n' }));
  await at.turn('t2', () => at.write({ 'a.txt': 'one\n2\nthree\nfour', 'b.txt': 'b\n' }));
  await at.turn('t3', () => at.write({ 'c.txt': 'c\n' }));
  expect(blame(at, 'a.txt')).toEqual(['before one', 't1 2', 'before three', 't2 four']);
  expect(blame(at, 'b.txt')).toEqual(['t2 b']);
});

test('what somebody wrote between turns and after the last one is outside', async () => {
  const at = bench({ 'a.txt': '1\n2\n', 'never.txt': 'n\n' });
  await at.turn('t1', () => at.write({ 'a.txt': '1\n2\nt1\n' }));
  at.write({ 'a.txt': 'mine\n1\n2\nt1\n' });
  await at.turn('t2', () => at.write({ 'a.txt': 'mine\n1\nt1\nt2\n' }));
  at.write({ 'a.txt': 'mine\n1\nt1\nt2\nlater\n', 'never.txt': 'n\nlater\n', 'new.txt': 'x\n' });
  expect(blame(at, 'a.txt')).toEqual([
    'outside mine',
    'before 1',
    't1 t1',
    't2 t2',
    'outside later',
  ]);
  expect(blame(at, 'never.txt')).toEqual(['before n', 'outside later']);
  expect(blame(at, 'new.txt')).toEqual(['outside x']);
});

test('the lines of a turn that was rewound are gone, and a redo gives them back to it', async () => {
  const at = bench({ 'a.txt': 'A\n' });
  await at.turn('t1', () => at.write({ 'a.txt': 'A\nB\n' }));
  // The turn writes back what had stood before the first one.
  await at.turn('t2', () => at.write({ 'a.txt': 'A\n' }));
  await at.turn('t3', () => at.write({ 'a.txt': 'X\nB\n' }));
  await at.rewind('t3');
  expect(blame(at, 'a.txt')).toEqual(['before A']);
  await at.rewind('t2');
  expect(blame(at, 'a.txt')).toEqual(['before A', 't1 B']);
  await at.redo();
  await at.redo();
  expect(blame(at, 'a.txt')).toEqual(['t3 X', 't3 B']);
  await at.rewind('t1');
  expect(blame(at, 'a.txt')).toEqual(['before A']);
});

test('after a merging rewind each line has its writer still', async () => {
  const at = bench({ 'a.txt': '1\n2\n3\n4\n5\n6\n7\n' });
  await at.turn('t1', () => at.write({ 'a.txt': '1\n2!\n3\n4\n5\n6\n7\n' }));
  await at.turn('t2', () => at.write({ 'a.txt': '1\n3\n4\n5\n6\n7\n' }));
  at.write({ 'a.txt': '1\n3\n4\n5\n6\n7\nmine\n' });
  await at.with((store) => store.rewind({ turn: 't2', merge: true }));
  expect(blame(at, 'a.txt').join(', ')).toBe(
    'before 1, t1 2!, before 3, before 4, before 5, before 6, before 7, outside mine',
  );
});

test('of turns that overlap the one that closed first has what both saw come', async () => {
  const at = bench({ 'a.txt': 'a\n' });
  const options = { root: at.root, store: at.store };
  const first = await openTurn({ ...options, turn: 'first' });
  at.write({ 'a.txt': 'a\n1\n' });
  const second = await openTurn({ ...options, turn: 'second' });
  at.write({ 'a.txt': 'a\n1\n2\n' });
  await first.close();
  at.write({ 'a.txt': 'a\n1\n2\n3\n' });
  expect(blame(at, 'a.txt')).toEqual(['before a', 'first 1', 'first 2', 'outside 3']);
  await second.close();
  expect(blame(at, 'a.txt')).toEqual(['before a', 'first 1', 'first 2', 'second 3']);
});

test('a file that was deleted and made again, and one that was a link, have the new writer', async () => {
  const at = bench({ 'a.txt': 'a\n', l: symlink('a.txt') });
  await at.turn('t1', () => fs.rmSync(path.join(at.root, 'a.txt')));
  await at.turn('t2', () => {
    fs.rmSync(path.join(at.root, 'l'));
    at.write({ 'a.txt': 'a\n', l: 'was link\n' });
  });
  expect(blame(at, 'a.txt')).toEqual(['t2 a']);
  expect(blame(at, 'l')).toEqual(['t2 was link']);
});

test('the command prints lines with their turns, and JSON the same', async () => {
  const it = lab();
  tree(it.root, { 'a.txt': 'one\ntwo\n' });
  await it.turn('echo three >> a.txt', '--turn', 'add');
  tree(it.root, { 'a.txt': 'one\nTWO\nthree\n' });
  expect(await it.run(['blame', 'a.txt'])).toEqual({
    code: 0,
    stderr: '',
    stdout: 'before   1  one\noutside  2  TWO\nadd      3  three\n',
  });
  expect(await it.json(['blame', 'a.txt'])).toEqual({
    path: 'a.txt',
    lines: [
      { line: 1, by: 'before', text: 'one\n' },
      { line: 2, by: 'outside', text: 'TWO\n' },
      { line: 3, by: 'turn', turn: 'add', step: 1, text: 'three\n' },
    ],
    openTurns: [],
    droppedTurns: 0,
  });
});

test('what has no lines is said and not dumped; what is not there ends with 3', async () => {
  const it = lab();
  tree(it.root, {
    bin: Buffer.from('SECRET\0'),
    huge: 'x\n'.repeat(5_000_000),
    l: symlink('huge'),
  });
  await it.turn('rm -f gone; echo x > gone');
  fs.rmSync(path.join(it.root, 'gone'));
  await expectLineless(it, 'bin', /bin has no lines: it is binary/);
  await expectLineless(it, 'huge', /its 9\.5 MB are over the 8 MB/);
  await expectLineless(it, 'l', /symbolic link/);
  await expectLineless(it, '.', /directory/);
  await expectProblem(it, ['blame', 'gone'], { code: 3, says: [/gone/, /preimage log gone/] });
  await expectProblem(it, ['blame', '../x'], { code: 2, says: [/outside/] });
  await expectProblem(lab(), ['blame', 'x'], { code: 3, says: [/[Nn]othing was recorded/] });
});

test('a version that was not captured leaves lines of which nobody can tell', async () => {
  const base = temporary();
  const at = bench({ 'a.txt': 'a\n' }, base);
  await at.turn('t1', () => at.write({ 'a.txt': 'a\nb\n' }));
  const options = { root: at.root, store: at.store, maxFile: 100 };
  const turn = await openTurn({ ...options, turn: 't2' });
  at.write({ 'a.txt': `a\nb\n${'long\n'.repeat(100)}` });
  await turn.close();
  at.write({ 'a.txt': 'a\nb\nc\n' });
  const lines = blame(at, 'a.txt');
  expect(lines.every((line) => line.startsWith('unknown'))).toBe(true);
});

async function expectLineless(it: Lab, name: string, says: RegExp): Promise<void> {
  const run = await it.run(['blame', name]);
  expect(run).toMatchObject({ code: 1, stdout: '' });
  expect(run.stderr).toMatch(says);
  expect(await it.json(['blame', name])).toMatchObject({ lines: null });
}

function blame(at: Bench, name: string): string[] {
  return at.with((store) => {
    const told = store.blame(path.join(at.root, name));
    if (told.kind !== 'lines') throw new Error(told.reason);
    return told.lines.map(({ origin, text }) => {
      const who = origin.kind === 'turn' ? origin.turn : origin.kind;
      return `${who} ${text.replace(/\n$/, '')}`;
    });
  });
}
