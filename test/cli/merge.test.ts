import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { type Lab, lab } from '../support/cli.js';
import { exec, file, snapshot, symlink, tree } from '../support/tree.js';

const lines = (...all: readonly string[]): string => all.map((line) => `${line}\n`).join('');
const OLD = lines('one', 'two', 'three', 'four', 'five');
const LEFT = OLD.replace('one', 'ONE');
const EDITED = LEFT.replace('five', 'five, by the user');
const MERGED = OLD.replace('five', 'five, by the user');

type Outcome = { readonly path: string; readonly outcome: string; readonly reason?: string };
type Result = { readonly code: number; readonly complete: boolean; readonly outcomes: Outcome[] };

/** Puts a text into a file as one turn. */
async function put(at: Lab, entries: Parameters<typeof tree>[1], turn: string): Promise<void> {
  await at.run(['open', '--turn', turn, '--no-watch']);
  tree(at.root, entries);
  await at.run(['close', '--turn', turn]);
}

async function rewind(at: Lab, ...args: readonly string[]): Promise<Result> {
  const { code, stdout, stderr } = await at.run(['rewind', '--json', ...args]);
  expect(stderr).toBe('');
  return { code, ...JSON.parse(stdout) };
}

const read = (at: Lab, name: string): string => fs.readFileSync(path.join(at.root, name), 'latin1');

test('--merge takes the turn’s change out and keeps the user’s later edit; redo brings both back', async () => {
  const at = lab();
  tree(at.root, { 'a.txt': OLD, 'b.txt': 'old' });
  await put(at, { 'a.txt': LEFT, 'b.txt': 'turn' }, 't1');
  tree(at.root, { 'a.txt': EDITED });
  const edited = snapshot(at.root);
  expect(await rewind(at, '--dry-run')).toMatchObject({
    code: 1,
    outcomes: [{ path: 'a.txt', outcome: 'conflict' }, { path: 'b.txt' }],
  });
  const wanted = {
    code: 0,
    complete: true,
    outcomes: [
      { path: 'a.txt', outcome: 'restored', reason: 'merged with your later edit' },
      { path: 'b.txt', outcome: 'restored' },
    ],
  };
  const dry = await rewind(at, '--merge', '--dry-run');
  expect(dry).toMatchObject(wanted);
  expect(snapshot(at.root)).toEqual(edited);
  expect(await rewind(at, '--merge')).toEqual(dry);
  expect(read(at, 'a.txt')).toBe(MERGED);
  expect((await at.run(['redo'])).code).toBe(0);
  expect(snapshot(at.root)).toEqual(edited);
});

test('where both changed the same lines, or it is no text, it stays a conflict and says why', async () => {
  const at = lab();
  const old = {
    'same.txt': OLD,
    binary: Buffer.from('a\0\nb\nc\n'),
    'large.txt': 'x'.repeat(1024 * 1024),
    link: symlink('a'),
    gone: OLD,
    swap: OLD,
  };
  tree(at.root, old);
  fs.rmSync(path.join(at.root, 'link'));
  tree(at.root, { link: symlink('one') });
  await at.run(['open', '--turn', 't1', '--no-watch']);
  fs.rmSync(path.join(at.root, 'link'));
  tree(at.root, {
    'same.txt': LEFT,
    binary: Buffer.from('A\0\nb\nc\n'),
    'large.txt': `a\n${'x'.repeat(1024 * 1024)}`,
    link: symlink('two'),
    gone: LEFT,
    swap: LEFT,
    made: OLD,
  });
  await at.run(['close', '--turn', 't1']);
  for (const name of ['link', 'gone', 'swap']) fs.rmSync(path.join(at.root, name));
  tree(at.root, {
    'same.txt': LEFT.replace('ONE', 'MINE'),
    binary: Buffer.from('A\0\nb\nC\n'),
    'large.txt': `a\n${'x'.repeat(1024 * 1024)}\nmine`,
    link: symlink('mine'),
    swap: symlink('mine'),
    made: `${OLD}mine\n`,
  });
  const edited = snapshot(at.root);
  const { code, outcomes } = await rewind(at, '--merge');
  expect(code).toBe(1);
  expect(
    Object.fromEntries(outcomes.map((one) => [one.path, `${one.outcome}: ${one.reason}`])),
  ).toEqual({
    binary: 'conflict: it was changed after the turn; it is not text',
    gone: 'conflict: it was deleted after the turn; only files can be merged',
    'large.txt': 'conflict: it was changed after the turn; it is too large to merge',
    link: 'conflict: it was changed after the turn; only files can be merged',
    made: 'conflict: it was changed after the turn; only files can be merged',
    'same.txt': 'conflict: it was changed after the turn; both changed the same lines',
    swap: 'conflict: it was changed after the turn; only files can be merged',
  });
  expect(snapshot(at.root)).toEqual(edited);
});

test('bytes are kept: carriage returns, no newline at the end, what is no UTF-8', async () => {
  const at = lab();
  const bytes = (text: string): Buffer => Buffer.from(text, 'latin1');
  const old = 'one\r\ntwo\r\nth\xfcree\xff\r\nfour\r\nfive';
  tree(at.root, { a: bytes(old) });
  await put(at, { a: bytes(old.replace('one\r', 'ONE\r')) }, 't1');
  tree(at.root, { a: bytes(old.replace('one\r', 'ONE\r').replace('five', 'five\xe9')) });
  expect(await rewind(at, '--merge')).toMatchObject({ code: 0 });
  expect(read(at, 'a')).toBe(old.replace('five', 'five\xe9'));
});

test('modes merge as well: whoever changed one keeps it', async () => {
  const at = lab();
  tree(at.root, {
    'by-user': file(OLD, 0o644),
    'by-turn': file(OLD, 0o644),
    both: file(OLD, 0o644),
  });
  await put(at, { 'by-user': LEFT, 'by-turn': exec(LEFT), both: exec(LEFT) }, 't1');
  tree(at.root, { 'by-user': file(EDITED, 0o600), 'by-turn': EDITED, both: file(EDITED, 0o600) });
  const { outcomes } = await rewind(at, '--merge');
  expect(outcomes).toMatchObject([
    { path: 'both', outcome: 'conflict', reason: expect.stringMatching(/permissions/) },
    { path: 'by-turn', outcome: 'restored' },
    { path: 'by-user', outcome: 'restored' },
  ]);
  const mode = (name: string): number => fs.statSync(path.join(at.root, name)).mode & 0o7777;
  expect([mode('by-turn'), mode('by-user'), mode('both')]).toEqual([0o644, 0o600, 0o600]);
  expect([read(at, 'by-turn'), read(at, 'by-user')]).toEqual([MERGED, MERGED]);
});

test('an edit between two turns is kept by --merge, one after them as well', async () => {
  const at = lab();
  tree(at.root, { a: OLD, b: OLD });
  await put(at, { a: LEFT, b: LEFT }, 't1');
  tree(at.root, { a: LEFT.replace('three', 'three, by the user') });
  await put(at, { a: LEFT.replace('three', 'three, by the user').replace('four\n', '') }, 't2');
  expect(await rewind(at, 't1', '--merge', '--dry-run')).toMatchObject({
    outcomes: [
      { path: 'a', reason: 'merged with what was edited between turns t1 and t2' },
      { path: 'b', outcome: 'restored' },
    ],
  });
  tree(at.root, { a: `zero\n${read(at, 'a')}` });
  // The turn changed the first line, so a new one before it touches that change.
  expect((await rewind(at, 't1', '--merge', '--dry-run')).code).toBe(1);
  tree(at.root, { a: `${read(at, 'a').replace('zero\n', '')}six\n` });
  expect(await rewind(at, 't1', '--merge')).toMatchObject({
    code: 0,
    outcomes: [
      {
        path: 'a',
        reason: 'merged with your later edit and what was edited between turns t1 and t2',
      },
      { path: 'b' },
    ],
  });
  expect(read(at, 'a')).toBe(`${OLD.replace('three', 'three, by the user')}six\n`);
});

test('--force puts back what does not merge and still merges what does', async () => {
  const at = lab();
  tree(at.root, { a: OLD, b: OLD });
  await put(at, { a: LEFT, b: LEFT }, 't1');
  tree(at.root, { a: EDITED, b: LEFT.replace('ONE', 'MINE') });
  const edited = snapshot(at.root);
  expect(await rewind(at, '--merge', '--force')).toMatchObject({ code: 0 });
  expect([read(at, 'a'), read(at, 'b')]).toEqual([MERGED, OLD]);
  expect((await at.run(['redo'])).code).toBe(0);
  expect(snapshot(at.root)).toEqual(edited);
});

test('a merge that comes to what stands already changes nothing, and a second one neither', async () => {
  const at = lab();
  tree(at.root, { a: OLD, b: OLD });
  await put(at, { a: LEFT, b: LEFT }, 't1');
  tree(at.root, { a: MERGED, b: LEFT.replace('ONE', 'MINE') });
  for (let i = 0; i < 2; i++) {
    const stat = fs.statSync(path.join(at.root, 'a'), { bigint: true });
    expect(await rewind(at, '--merge')).toMatchObject({
      outcomes: [
        { path: 'a', outcome: 'unchanged' },
        { path: 'b', outcome: 'conflict' },
      ],
    });
    const { ino, mtimeNs } = fs.statSync(path.join(at.root, 'a'), { bigint: true });
    expect({ ino, mtimeNs }).toEqual({ ino: stat.ino, mtimeNs: stat.mtimeNs });
  }
});

test('only some paths merge when only they are asked for, and .git is never merged', async () => {
  const at = lab();
  tree(at.root, { a: OLD, b: OLD, '.git': { config: OLD } });
  await put(at, { a: LEFT, b: LEFT, '.git': { config: LEFT } }, 't1');
  tree(at.root, { a: EDITED, b: EDITED, '.git': { config: EDITED } });
  expect(await rewind(at, '--merge', '--git', 't1', 'a', '.git')).toMatchObject({
    outcomes: [
      { path: '.git/config', outcome: 'conflict' },
      { path: 'a', outcome: 'restored' },
    ],
  });
  expect([read(at, 'a'), read(at, 'b'), read(at, '.git/config')]).toEqual([MERGED, EDITED, EDITED]);
});

test('the words name the merge, and a conflict tells of --merge', async () => {
  const at = lab();
  tree(at.root, { a: OLD });
  await put(at, { a: LEFT }, 't1');
  tree(at.root, { a: EDITED });
  expect((await at.run(['rewind'])).stdout).toMatch(/--merge/);
  const { stdout } = await at.run(['rewind', '--merge']);
  expect(stdout).toBe('restored  a  merged with your later edit\nrewound t1: 1 restored\n');
});
