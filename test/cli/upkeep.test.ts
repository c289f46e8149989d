import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { type Lab, lab } from '../support/cli.js';
import { LINUX, testWith } from '../support/machine.js';
import { snapshot, tree } from '../support/tree.js';
import { diskUse, filesBelow } from '../support/turns.js';
import { expectProblem } from './problems.js';

test('prune says what goes, or with --dry-run what would, and that it is nothing', async () => {
  const it = await withTurns(3);
  const before = diskUse(it.home);
  const dry = await it.run(['prune', '--keep', '1', '--dry-run']);
  expect(dry).toMatchObject({ code: 0, stderr: '' });
  expect(dry.stdout).toMatch(
    /^would drop {2}t1\nwould drop {2}t2\n2 turns would go, .* free; 1 turn kept/,
  );
  expect(diskUse(it.home)).toBe(before);
  expect(await it.json(['prune', '--keep', '1', '--dry-run'])).toEqual({
    dryRun: true,
    turns: ['t1', 't2'],
    kept: 1,
    freed: expect.any(Number),
    waiting: 0,
    history: expect.any(Number),
    notes: [],
  });
  const done = await it.run(['prune', '--keep', '1']);
  expect(done).toMatchObject({ code: 0, stderr: '' });
  expect(done.stdout).toMatch(/^dropped {2}t1\ndropped {2}t2\n2 turns dropped, /);
  expect(diskUse(it.home)).toBeLessThan(before);
  const again = await it.run(['prune', '--keep', '1']);
  expect(again).toMatchObject({ code: 0, stdout: expect.stringMatching(/^no turn to drop, /) });
  expect(await it.run(['prune', '--quiet'])).toEqual({ code: 0, stdout: '', stderr: '' });
  await expectProblem(it, ['rewind', 't1'], { code: 3, says: [/no turn "t1"/] });
});

test('prune refuses a limit that is none, and a workspace in which nothing was recorded', async () => {
  const it = lab();
  await expectProblem(it, ['prune'], { code: 3, says: [/Nothing was recorded/] });
  for (const [option, value] of [
    ['--keep', '-1'],
    ['--keep', 'all'],
    ['--older-than', '30'],
    ['--max-size', 'much'],
  ] as const) {
    await expectProblem(it, ['prune', option, value], { code: 2, says: [new RegExp(option)] });
  }
});

test('status tells how much is kept, by default or by the settings', async () => {
  const it = lab();
  expect(await it.json(['status'])).toMatchObject({
    retention: { keep: 200, olderThan: '30d', maxSize: 5 * 1024 ** 3 },
  });
  tree(it.root, { '.preimage.json': '{ "keep": 10, "olderThan": "2w", "maxSize": "1GB" }' });
  expect(await it.json(['status'])).toMatchObject({
    retention: { keep: 10, olderThan: '14d', maxSize: 1024 ** 3 },
  });
  expect((await it.run(['status'])).stdout).toMatch(/^keeps +10 turns, 14d, 1 GB of history/m);
  tree(it.root, { '.preimage.json': '{ "keep": 0, "olderThan": 0, "maxSize": 0 }' });
  expect((await it.run(['status'])).stdout).toMatch(/^keeps +all turns$/m);
  tree(it.root, { '.preimage.json': '{ "olderThan": "soon" }' });
  await expectProblem(it, ['status'], { code: 2, says: [/olderThan/, /30d/] });
});

test('a prune that cannot be done never fails the close: it is a warning', async () => {
  const it = await withTurns(2);
  const before = snapshot(it.root);
  fs.writeFileSync(path.join(await storeOf(it), 'packs', 'trash'), 'in the way');
  tree(it.root, { '.preimage.json': '{ "keep": 1 }' });
  const run = await it.run(['watch', '--', 'sh', '-c', 'echo 9 > a.txt; exit 7']);
  expect(run).toMatchObject({ code: 7, stdout: '' });
  expect(run.stderr).toMatch(/warning: prune: /);
  expect(run.stderr).toMatch(/turn t3: 1 modified/);
  fs.rmSync(path.join(await storeOf(it), 'packs', 'trash'));
  fs.rmSync(path.join(it.root, '.preimage.json'));
  expect((await it.run(['rewind', 't3'])).code).toBe(0);
  expect(snapshot(it.root)).toEqual(before);
});

test('verify says that all is whole, or what is not, which turns it touches, and ends with 4', async () => {
  const it = await withTurns(3);
  const whole = await it.run(['verify']);
  expect(whole).toMatchObject({ code: 0, stderr: '' });
  expect(whole.stdout).toMatch(/^checked 6 lines of the log, \d+ contents, .*: all whole\n$/);
  const pack = filesBelow(it.home).find((file) => fs.readFileSync(file).includes('content 2\n'));
  const bytes = fs.readFileSync(pack ?? '');
  bytes.write('CONTENT', bytes.indexOf('content 2\n'));
  fs.writeFileSync(pack ?? '', bytes);
  const found = await it.run(['verify']);
  expect(found).toMatchObject({ code: 4, stderr: '' });
  expect(found.stdout).toMatch(/^damage {2}packs\/\d{8}\.pack: at byte \d+: /m);
  expect(found.stdout).toMatch(/turns that the damage touches: t2, t3\n/);
  expect(await it.json(['verify'])).toMatchObject({ whole: false, turns: ['t2', 't3'] });
  const repaired = await it.run(['verify', '--repair']);
  expect(repaired).toMatchObject({ code: 0, stderr: '' });
  expect(repaired.stdout).toMatch(/the rest is whole now\n$/);
  expect(await it.run(['verify'])).toMatchObject({ code: 0 });
  const rewound = await it.run(['rewind', 't3']);
  expect(rewound).toMatchObject({ code: 1 });
  expect(rewound.stdout).toMatch(/^failed +a\.txt {2}its pre-image is missing from the store/m);
});

test('a prune of a damaged store drops nothing and ends with 4', async () => {
  const it = await withTurns(3);
  const log = path.join(await storeOf(it), 'log');
  fs.writeFileSync(log, fs.readFileSync(log, 'utf8').replace('"t2"', '"t7"'));
  const before = snapshot(it.home);
  await expectProblem(it, ['prune', '--keep', '1'], { code: 4, says: [/Line 3/, /verify/] });
  expect(snapshot(it.home)).toEqual(before);
});

test('doctor tries a turn out and says a line each; what is wrong ends with 1 and says what to do', async () => {
  const it = await withTurns(1);
  const fine = await it.run(['doctor']);
  expect(fine).toMatchObject({ code: 0, stderr: '' });
  const names = fine.stdout.split('\n').map((line) => line.slice(7).split(/ {2}/)[0]);
  expect(names).toEqual(
    expect.arrayContaining(['versions', 'canary', 'watcher', 'store', 'space']),
  );
  expect(fine.stdout).toMatch(
    /^ok +canary +9 paths changed, rewound and compared: all as before$/m,
  );
  const store = await storeOf(it);
  fs.chmodSync(path.join(store, 'log'), 0o644);
  const wrong = await it.run(['doctor']);
  expect(wrong).toMatchObject({ code: 1, stderr: '' });
  expect(wrong.stdout).toMatch(/^wrong +store .*\/log has mode 0644\. .*chmod -R go= /m);
  expect(await it.json(['doctor'])).toMatchObject({ ok: false });
  expect(fs.readdirSync(it.root)).toEqual(['a.txt']);
});

testWith([LINUX], 'doctor names the limits of the system’s watches', async () => {
  const { checks } = await lab().json<{ checks: { name: string }[] }>(['doctor']);
  expect(checks.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['max_user_watches', 'max_user_instances', 'max_queued_events']),
  );
});

test.each(['prune', 'verify', 'doctor'])('%s --help has an example', async (command) => {
  const help = await lab().run([command, '--help']);
  expect(help).toMatchObject({ code: 0, stderr: '' });
  expect(help.stdout).toContain(`Example:\n  preimage ${command}`);
});

/** Turns t1, t2, …: a.txt is `content 0`, then `content 1`, … */
async function withTurns(count: number): Promise<Lab> {
  const it = lab();
  tree(it.root, { 'a.txt': 'content 0\n' });
  for (let i = 1; i <= count; i++) await it.turn(`echo content ${i} > a.txt`, '--no-watch');
  return it;
}

async function storeOf(it: Lab): Promise<string> {
  return (await it.json<{ store: string }>(['status'])).store;
}
