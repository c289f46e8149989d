import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { type Lab, lab } from '../support/cli.js';
import { expectProblem } from './problems.js';
import { rechained } from './rechain.js';

type Anchor = { state: string; lines: number; since: number; dropped: { turns: number } | null };

test('the head of the history vouches for it, and still does when more came', async () => {
  const it = await withTurns(2);
  const head = await headOf(it);
  expect(head).toMatch(/^[0-9a-f]{64}$/);
  const untouched = await it.run(['verify', '--expect', head]);
  expect(untouched).toEqual({ code: 0, stderr: '', stdout: 'untouched  4 lines, 0 more since\n' });
  await it.turn('echo 3 > a.txt');
  expect(await headOf(it)).not.toBe(head);
  expect(await expected(it, head)).toMatchObject({ state: 'untouched', lines: 4, since: 2 });
  expect(await it.run(['verify', '--expect', head.toUpperCase(), '--quiet'])).toMatchObject({
    code: 0,
    stdout: '',
  });
});

test('a changed, a lost and a rewritten line before the head end with 4 and say where', async () => {
  const it = await withTurns(3);
  const first = await headOf(it);
  await it.turn('echo more > a.txt');
  const log = await logOf(it);
  const whole = fs.readFileSync(log, 'utf8');
  const lines = whole.trimEnd().split('\n');
  const damage: readonly (readonly [text: string, says: RegExp])[] = [
    [whole.replace('"t2"', '"t9"'), /^changed {2}line 3 is not what was written\n/],
    [
      lines
        .filter((_, i) => i !== 2)
        .join('\n')
        .concat('\n'),
      /^changed {2}lines before line 3 are gone/,
    ],
    [
      lines.slice(0, 4).join('\n').concat('\n'),
      /^unknown {2}no line of this history has that hash\n/,
    ],
  ];
  for (const [text, says] of damage) {
    fs.writeFileSync(log, text);
    const run = await it.run(['verify', '--expect', first]);
    expect(run.code).toBe(4);
    expect(run.stdout).toMatch(says);
  }
  // What came after the head is not what it vouches for.
  fs.writeFileSync(log, whole.replace('"t4"', '"t9"'));
  expect(await it.run(['verify', '--expect', first])).toMatchObject({ code: 0 });
  expect(await it.run(['verify', '--head'])).toMatchObject({ code: 4, stdout: '' });
});

test('a list of changes that the history names belongs to it', async () => {
  const it = lab();
  await it.turn('for i in $(seq 40); do echo $i > f$i; done', '--no-watch');
  const head = await headOf(it);
  const details = path.join(path.dirname(await logOf(it)), 'details');
  const [name = ''] = fs.readdirSync(details);
  const file = path.join(details, name);
  const bytes = fs.readFileSync(file, 'utf8');
  fs.writeFileSync(file, bytes.replace('f40', 'f41'));
  const run = await it.run(['verify', '--expect', head]);
  expect(run.code).toBe(4);
  expect(run.stdout).toMatch(/^changed {2}.*not what was written/);
});

test('after prunes a head still vouches for what stays, and what is dropped is said', async () => {
  const it = lab();
  const heads: string[] = [];
  for (let i = 1; i <= 7; i++) {
    await it.turn(`echo ${i} > a.txt`, '--no-watch');
    heads.push(await headOf(it));
    if (i === 4) await it.run(['prune', '--keep', '3']);
    if (i === 6) await it.run(['prune', '--keep', '3']);
  }
  // t1 to t3 are gone; the head after t3 is the last line that went.
  const states = [];
  for (const head of heads) states.push((await expected(it, head)).state);
  expect(states).toEqual([
    'unknown',
    'unknown',
    'dropped',
    'untouched',
    'untouched',
    'untouched',
    'untouched',
  ]);
  expect(await expected(it, heads[3] ?? '')).toMatchObject({ lines: 3, dropped: { turns: 3 } });
  const dropped = await it.run(['verify', '--expect', heads[2] ?? '']);
  expect(dropped.code).toBe(4);
  expect(dropped.stdout).toMatch(/^dropped {2}a prune has dropped the lines up to it\n/);
  expect(dropped.stdout).toMatch(
    /^prunes have dropped 3 turns, the last .*: of them nothing can be/m,
  );
  // A line that stayed and was written before both prunes is changed, its own hash made to fit.
  const log = await logOf(it);
  const text = fs.readFileSync(log, 'utf8');
  fs.writeFileSync(
    log,
    rechained(text.replace(/"command":\["sh","-c","echo 4/, '"command":["sh","-c","echo 9')),
  );
  expect(await it.run(['verify'])).toMatchObject({ code: 0 });
  for (const head of heads.slice(3, 6)) {
    expect(await it.run(['verify', '--expect', head])).toMatchObject({ code: 4 });
  }
});

test('what is no hash, and two wishes at once, are wrong usage', async () => {
  const it = await withTurns(1);
  await expectProblem(it, ['verify', '--expect', 'abc'], { code: 2, says: [/abc/, /--head/] });
  await expectProblem(it, ['verify', '--head', '--repair'], { code: 2, says: [/exclude/] });
  await expectProblem(lab(), ['verify', '--head'], { code: 3, says: [/[Nn]othing was recorded/] });
});

async function withTurns(count: number): Promise<Lab> {
  const it = lab();
  for (let i = 1; i <= count; i++) await it.turn(`echo ${i} > a.txt`, '--no-watch');
  return it;
}

async function headOf(it: Lab): Promise<string> {
  return (await it.run(['verify', '--head'])).stdout.trim();
}

function expected(it: Lab, head: string): Promise<Anchor> {
  return it.json<Anchor>(['verify', '--expect', head]);
}

async function logOf(it: Lab): Promise<string> {
  return path.join((await it.json<{ store: string }>(['status'])).store, 'log');
}
