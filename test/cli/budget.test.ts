import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { type Lab, lab } from '../support/cli.js';
import { SLOW, timeFor } from '../support/slow-clock.js';
import { snapshot, tree } from '../support/tree.js';
import { expectProblem } from './problems.js';

const OVER = 'over the time budget';
const WARNING =
  'preimage: warning: 2 files (3.9 KB) were not copied in time: over the time budget of 3ms; ' +
  'what this turn does to them may not be undone\n';

/** A workspace with two old files beside a new one, and the time for one. */
function short(): Lab & { readonly options: readonly string[] } {
  const it = lab();
  tree(it.root, { new: 'new', old1: 'x'.repeat(1000), old2: 'x'.repeat(3000) });
  const time = new Date('2020-01-01');
  for (const name of ['old1', 'old2']) fs.utimesSync(path.join(it.root, name), time, time);
  const run: Lab['run'] = (args, options) => it.run(args, { ...options, env: SLOW });
  return { ...it, run, options: ['--no-watch', '--budget', `${timeFor(1)}ms`] };
}

test('watch says what it had no time for, and a rewind leaves that alone and ends with 1', async () => {
  const it = short();
  const before = snapshot(it.root);
  const script = 'echo changed > new; echo changed > old1; rm old2; echo out';
  const run = await it.run(['watch', ...it.options, '--', 'sh', '-c', script]);
  expect(run).toMatchObject({ code: 0, stdout: 'out\n' });
  expect(run.stderr).toContain(WARNING);
  const shown = await it.run(['show', 't1', '--json']);
  const skipped = { kind: 'skipped', reason: OVER };
  expect(JSON.parse(shown.stdout)).toMatchObject({
    partial: true,
    files: [
      { path: 'new', change: 'modified' },
      { path: 'old1', change: 'unknown', pre: skipped, post: { kind: 'content' } },
      { path: 'old2', change: 'unknown', pre: skipped, post: { kind: 'absent' } },
    ],
  });
  expect((await it.run(['show', 't1'])).stdout).toMatch(/^\? old1 .*over the time budget/m);
  const left = snapshot(it.root).old1;
  const rewind = await it.run(['rewind', '--json']);
  expect(rewind.code).toBe(1);
  expect(JSON.parse(rewind.stdout)).toMatchObject({
    complete: false,
    outcomes: [
      { path: 'new', outcome: 'restored' },
      { path: 'old1', outcome: 'skipped', reason: OVER },
      { path: 'old2', outcome: 'skipped', reason: OVER },
    ],
  });
  expect(snapshot(it.root)).toEqual({ '.': before['.'], new: before.new, old1: left });
  expect((await it.run(['verify'])).code).toBe(0);
});

test('watch --json tells it on standard error, in the document as well', async () => {
  const it = short();
  const run = await it.run(['watch', '--json', ...it.options, '--', 'true']);
  expect(run).toMatchObject({ code: 0, stdout: '' });
  const json = run.stderr.slice(run.stderr.indexOf('{'));
  expect(JSON.parse(json)).toMatchObject({
    turn: 't1',
    files: [],
    warnings: [expect.stringMatching(/^2 files .* were not copied in time/)],
  });
});

test('open and status tell it, also as JSON, until the next openings have gone on to the end', async () => {
  const it = short();
  const open = async () => {
    const run = await it.run(['open', '--turn', 'x', ...it.options, '--json']);
    const status = JSON.parse((await it.run(['status', '--json'])).stdout);
    await it.run(['close', '--turn', 'x']);
    return { ...run, opened: JSON.parse(run.stdout), status };
  };
  const first = await open();
  const sum = { files: 2, bytes: 4000 };
  expect(first.stderr).toBe(WARNING);
  expect(first.opened).toMatchObject({
    baseline: { files: 1 },
    overBudget: sum,
    warnings: [expect.stringContaining(OVER)],
  });
  expect(first.status).toMatchObject({ overBudget: sum, leftOutCount: 2 });
  const text = (await it.run(['status'])).stdout;
  expect(text).toMatch(
    /^warning +2 files \(3.9 KB\) not copied in time: over the time budget; the next opening goes on/m,
  );
  expect(text).toMatch(/^ +old2 +\(over the time budget\)$/m);
  expect((await open()).status).toMatchObject({ overBudget: { files: 1, bytes: 3000 } });
  const last = await open();
  expect(last).toMatchObject({ code: 0, stderr: '', opened: { warnings: [] } });
  expect(last.status).toMatchObject({ overBudget: { files: 0, bytes: 0 }, leftOutCount: 0 });
  expect((await it.run(['status'])).stdout).not.toContain('warning');
});

test('a budget may stand in .preimage.json; a flag wins, and 0 is as long as it takes', async () => {
  const it = short();
  fs.writeFileSync(path.join(it.root, '.preimage.json'), '{ "budget": "3ms" }');
  const opened = async (...flags: string[]) => {
    const { stdout } = await it.run(['open', '--turn', 'x', '--no-watch', '--json', ...flags]);
    return JSON.parse(stdout).overBudget.files;
  };
  expect(await opened()).toBe(3);
  expect(await opened('--budget', '4ms')).toBe(1);
  expect(await opened('--budget', '0')).toBe(0);
});

test('a time that is none is refused, and the command is not run', async () => {
  const it = short();
  for (const time of ['soon', '10', '-1s', '5 parsecs', '0.1ms']) {
    const problem = { code: 2, says: [/--budget/, /30d, 12h, .*500ms/] };
    await expectProblem(it, ['watch', `--budget=${time}`, '--', 'touch', 'ran'], problem);
    await expectProblem(it, ['open', '--turn', 'x', `--budget=${time}`], problem);
  }
  expect(fs.readdirSync(it.root)).not.toContain('ran');
});
