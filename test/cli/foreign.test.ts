import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { lab } from '../support/cli.js';
import { snapshot, tree } from '../support/tree.js';
import { expectProblem } from './problems.js';

test('an edit between two turns is named with the turns that it lies between', async () => {
  const at = lab();
  tree(at.root, { 'a.txt': 'old', 'b.txt': 'old' });
  await at.turn('echo one > a.txt; echo one > b.txt', '--no-watch');
  await at.turn('echo two > b.txt', '--no-watch');
  tree(at.root, { 'a.txt': 'user' });
  await at.turn('echo three > a.txt', '--no-watch');
  const edited = snapshot(at.root);
  const reason = 'somebody else changed it between turns t1 and t3';
  const run = await at.run(['rewind', 't1', '--dry-run', '--json']);
  expect(JSON.parse(run.stdout)).toMatchObject({
    outcomes: [
      {
        path: 'a.txt',
        outcome: 'conflict',
        reason,
        foreign: [
          {
            after: { kind: 'step', turn: 't1', step: 1 },
            before: { kind: 'step', turn: 't3', step: 3 },
          },
        ],
      },
      { path: 'b.txt', outcome: 'restored' },
    ],
  });
  expect((await at.run(['rewind', 't1'])).stdout).toContain(`conflict  a.txt  ${reason}\n`);
  expect(snapshot(at.root)['a.txt']).toBe(edited['a.txt']);
  expect((await at.run(['rewind', 't1', '--force'])).code).toBe(0);
  expect(fs.readFileSync(path.join(at.root, 'a.txt'), 'utf8')).toBe('old');
  for (let i = 0; i < 2; i++) await at.run(['redo']);
  expect(snapshot(at.root)).toEqual(edited);
});

test('two edits are both named, and so is one after a rewind', async () => {
  const at = lab();
  tree(at.root, { a: '0', b: '0' });
  await at.turn('echo 1 > a; echo 1 > b', '--no-watch');
  tree(at.root, { a: 'user' });
  await at.turn('echo 2 > a; echo 2 > b', '--no-watch');
  tree(at.root, { a: 'user again' });
  await at.turn('echo 3 > a', '--no-watch');
  expect((await at.run(['rewind', 't2', 'b'])).code).toBe(0);
  tree(at.root, { b: 'user' });
  await at.turn('echo 4 > b', '--no-watch');
  const { outcomes } = JSON.parse((await at.run(['rewind', 't1', '--dry-run', '--json'])).stdout);
  expect(outcomes).toMatchObject([
    {
      path: 'a',
      reason: 'somebody else changed it between turns t1 and t2 and between turns t2 and t3',
    },
    { path: 'b', reason: 'somebody else changed it between the rewind of t2 and turn t4' },
  ]);
});

test('an edit between two steps of one turn is told by show, in words and in JSON', async () => {
  const at = lab();
  tree(at.root, { a: 'old', b: 'old' });
  await at.turn('echo 1 > a; echo 1 > b', '--no-watch', '--turn', 'x');
  tree(at.root, { a: 'user' });
  await at.turn('echo 2 > a; echo 2 > b', '--no-watch', '--turn', 'x');
  expect((await at.run(['show', 'x'])).stdout).toMatch(
    /^! a {2}changed by somebody else between steps 1 and 2 of turn x$/m,
  );
  const { files } = await at.json<{ files: { path: string; foreign?: object[] }[] }>(['show', 'x']);
  expect(files).toMatchObject([
    { path: 'a', foreign: [{ after: { step: 1 }, before: { step: 2 } }] },
    { path: 'b' },
  ]);
  expect(files[1]).not.toHaveProperty('foreign');
});

test('a path in the place of the turn is told how to name both', async () => {
  const at = lab();
  tree(at.root, { src: { 'app.js': 'old' }, 'other.js': 'x' });
  await at.turn('echo 1 > src/app.js', '--no-watch');
  await at.turn('echo 2 > src/app.js; rm other.js', '--no-watch');
  await at.turn('echo > new', '--no-watch');
  const named = [
    ['src/app.js', 'preimage rewind t2 src/app.js'],
    ['src', 'preimage rewind t2 src'],
    ['./other.js', 'preimage rewind t2 other.js'],
  ];
  for (const [typed = '', says = ''] of named) {
    await expectProblem(at, ['rewind', typed], {
      code: 3,
      says: [/There is no turn/, /It is a path: name the turn first/, new RegExp(`${says}$`, 'm')],
    });
  }
  tree(at.root, { untouched: 'x' });
  await expectProblem(at, ['rewind', 'untouched'], { code: 3, says: [/no turn touched it/] });
  await expectProblem(at, ['rewind', 'nothing-at-all'], { code: 3, says: [/preimage list$/m] });
  await expectProblem(at, ['rewind', '../..'], { code: 3, says: [/preimage list$/m] });
});
