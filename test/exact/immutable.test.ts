import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { type Lab, lab } from '../support/cli.js';
import { IMMUTABLE, testWith } from '../support/machine.js';
import { snapshot, tree } from '../support/tree.js';

testWith([IMMUTABLE], 'what is marked immutable is named before anything is written', async () => {
  const it = lab();
  tree(it.root, { file: 'old', other: 'old', dir: { a: 'old', gone: 'old' } });
  const before = snapshot(it.root);
  const script = 'echo new > file; echo new > other; rm dir/gone; echo new > dir/made';
  await it.turn(script, '--turn', 'one', '--no-watch');
  const after = snapshot(it.root);
  freeze(it, 'file');
  freeze(it, 'dir');

  const planned = await it.run(['rewind', '--dry-run', '--json']);
  expect(planned.code).toBe(1);
  expect(outcomes(planned.stdout)).toEqual(EXPECTED);
  expect(snapshot(it.root)).toEqual(after);

  const run = await it.run(['rewind', '--json']);
  expect(run.code).toBe(1);
  expect(outcomes(run.stdout)).toEqual(EXPECTED);
  expect(snapshot(it.root)).toEqual({ ...after, other: before.other });

  // Once nothing is in the way the rest follows, and then all of it comes back.
  thaw(it, 'file');
  thaw(it, 'dir');
  expect((await it.run(['rewind'])).code).toBe(0);
  expect(snapshot(it.root)).toEqual(before);
  expect((await it.run(['redo'])).code).toBe(0);
  expect((await it.run(['redo'])).code).toBe(0);
  expect(snapshot(it.root)).toEqual(after);
});

const EXPECTED = {
  file: 'failed: it is marked immutable',
  other: 'restored: ',
  'dir/gone': 'failed: dir: it is marked immutable',
  'dir/made': 'failed: dir: it is marked immutable',
};

function outcomes(json: string): Record<string, string> {
  const { outcomes: all }: { outcomes: { path: string; outcome: string; reason?: string }[] } =
    JSON.parse(json);
  return Object.fromEntries(
    all.map(({ path, outcome, reason }) => [path, `${outcome}: ${reason ?? ''}`]),
  );
}

function freeze(it: Lab, name: string): void {
  chattr('+i', join(it.root, name));
  // Nobody could remove the test's directory otherwise.
  onTestFinished(() => {
    if (fs.existsSync(join(it.root, name))) chattr('-i', join(it.root, name));
  });
}

function thaw(it: Lab, name: string): void {
  chattr('-i', join(it.root, name));
}

function chattr(flag: string, path: string): void {
  const { status, stderr } = spawnSync('chattr', [flag, path], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`chattr ${flag} ${path}: ${stderr}`);
}
