import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { lab } from '../support/cli.js';
import { exec, file, snapshot, symlink, tree } from '../support/tree.js';
import { expectProblem } from './problems.js';

/** What CONTRACT.md says of an export, and nothing of ours. */
type Pre =
  | { kind: 'absent' }
  | { kind: 'skipped'; reason: string }
  | { kind: 'content'; type: 'file'; sha256: string; bytes: number; mode: string }
  | { kind: 'content'; type: 'symlink'; target: string; targetBytes?: string }
  | { kind: 'content'; type: 'directory'; mode: string };
type Turn = { turn: string; label: string; at: number; files: Exported[] };
type Exported = { path: string; pathBytes?: string; pre: Pre };

/** Restores a checkpoint directory: all that it names goes, then all that stood comes back. */
function restore(out: string): void {
  const turns: Turn[] = JSON.parse(fs.readFileSync(path.join(out, 'index.json'), 'utf8'));
  for (const { files } of turns) {
    const known = files.filter(({ pre }) => pre.kind !== 'skipped');
    const deepest = known.sort((a, b) => b.path.split('/').length - a.path.split('/').length);
    for (const one of deepest) clear(where(one), one.pre);
    for (const one of deepest.reverse()) put(where(one), one.pre, out);
    for (const one of deepest.reverse()) {
      if (one.pre.kind === 'content' && one.pre.type === 'directory') chmod(where(one), one.pre);
    }
  }
}

const where = ({ path: text, pathBytes }: Exported): Buffer => bytesOf(text, pathBytes);

const bytesOf = (text: string, bytes: string | undefined): Buffer =>
  bytes === undefined ? Buffer.from(text) : Buffer.from(bytes, 'base64');

const chmod = (at: Buffer, { mode }: { mode: string }): void =>
  fs.chmodSync(at, Number.parseInt(mode, 8));

function clear(at: Buffer, pre: Pre): void {
  // Below what is no directory any more there is nothing.
  const isThere = fs.existsSync(at.subarray(0, at.lastIndexOf('/') + 1));
  const stat = isThere ? fs.lstatSync(at, { throwIfNoEntry: false }) : undefined;
  const isKept = pre.kind === 'content' && pre.type === 'directory' && stat?.isDirectory();
  if (stat === undefined || isKept) return;
  if (stat.isDirectory()) fs.rmdirSync(at);
  else fs.unlinkSync(at);
}

function put(at: Buffer, pre: Pre, out: string): void {
  if (pre.kind !== 'content') return;
  switch (pre.type) {
    case 'directory':
      fs.mkdirSync(at, { recursive: true });
      return;
    case 'symlink':
      fs.symlinkSync(bytesOf(pre.target, pre.targetBytes), at);
      return;
    case 'file':
      fs.copyFileSync(path.join(out, 'blobs', pre.sha256), at);
      chmod(at, pre);
  }
}

test('a checkpoint directory restores the workspace without preimage', async () => {
  const it = lab();
  tree(it.root, {
    'styles.css': 'a { color: red }\n'.repeat(212),
    'same.css': 'a { color: red }\n'.repeat(212),
    '.env': file('API_URL=https://example.com\n', 0o600),
    bin: { run: exec('#!/bin/sh\n') },
    empty: {},
    link: symlink('styles.css'),
    dangling: symlink('no/where'),
    swap: { inner: { 'deep.txt': 'deep' } },
    'back.txt': 'a file that becomes a directory',
    'odd name\n"\u001b[1m': 'odd',
  });
  const before = snapshot(it.root);
  await it.turn(
    [
      'echo short > styles.css; rm same.css; echo API_URL=localhost > .env; chmod 644 .env',
      'rm -r bin empty; ln -sfn elsewhere link; rm dangling; echo file > dangling',
      'rm -r swap; echo file > swap; rm back.txt; mkdir -p back.txt/made; echo m > back.txt/made/m',
      'rm odd*; mkdir new; echo n > new/n; ln -s n new/l; echo x > "$(printf \'caf\\351\')"',
    ].join('\n'),
    '--label',
    'a turn "of" all kinds',
  );
  const out = path.join(it.home, 'checkpoint');
  const started = Date.now();
  expect((await it.run(['export', 't1', '--out', out])).code).toBe(0);
  expect(snapshot(it.root)).not.toEqual(before);

  const index = fs.readFileSync(path.join(out, 'index.json'), 'utf8');
  const turns: Turn[] = JSON.parse(index);
  expect(turns).toHaveLength(1);
  expect(turns[0]).toMatchObject({ turn: 't1', label: 'a turn "of" all kinds' });
  const at = BigInt(/"at":\s*(\d+)[,}]/.exec(index)?.[1] ?? 0);
  expect(Math.abs(Number(at / 1_000_000n) - started)).toBeLessThan(60_000);
  for (const one of turns[0]?.files ?? []) expect(path.isAbsolute(one.path)).toBe(true);
  for (const name of fs.readdirSync(path.join(out, 'blobs'))) {
    const bytes = fs.readFileSync(path.join(out, 'blobs', name));
    expect(crypto.createHash('sha256').update(bytes).digest('hex')).toBe(name);
  }
  restore(out);
  expect(snapshot(it.root)).toEqual(before);
});

test('a checkpoint says what is not in it, and a file over the limit is never absent', async () => {
  const it = lab();
  tree(it.root, { 'big.bin': 'x'.repeat(3000), 'a.txt': 'old' });
  await it.turn('echo small > big.bin; rm a.txt', '--max-file', '1KB', '--no-watch');
  const out = path.join(it.home, 'checkpoint');
  expect((await it.run(['export', 't1', '--out', out])).code).toBe(0);
  const [turn] = JSON.parse(fs.readFileSync(path.join(out, 'index.json'), 'utf8')) as Turn[];
  expect(turn?.files).toMatchObject([
    { path: path.join(it.root, 'a.txt'), pre: { kind: 'content', bytes: 3, mode: '0644' } },
    { path: path.join(it.root, 'big.bin'), pre: { kind: 'skipped' } },
  ]);
  restore(out);
  expect(fs.readFileSync(path.join(it.root, 'big.bin'), 'utf8')).toBe('small\n');
  expect(fs.readFileSync(path.join(it.root, 'a.txt'), 'utf8')).toBe('old');
});

test('the squash of a turn’s steps is exported: the first capture of a path', async () => {
  const it = lab();
  tree(it.root, { 'a.txt': 'zero' });
  const before = snapshot(it.root);
  const turn = ['--turn', 'three-steps', '--no-watch'];
  for (const step of ['1', '2', '3']) await it.turn(`echo ${step} > a.txt; : > f${step}`, ...turn);
  const out = path.join(it.home, 'checkpoint');
  expect((await it.run(['export', 'three-steps', '--out', out])).code).toBe(0);
  restore(out);
  expect(snapshot(it.root)).toEqual(before);
});

test('a link to a name that is not UTF-8 is exported with its bytes', async () => {
  const it = lab();
  fs.symlinkSync(Buffer.from('caf\xe9', 'latin1'), path.join(it.root, 'link'));
  const before = snapshot(it.root);
  await it.turn('rm link', '--no-watch');
  const out = path.join(it.home, 'checkpoint');
  expect((await it.run(['export', 't1', '--out', out])).code).toBe(0);
  restore(out);
  expect(snapshot(it.root)).toEqual(before);
});

test('an export writes over nothing', async () => {
  const it = lab();
  tree(it.root, { 'a.txt': 'old' });
  await it.turn('echo new > a.txt', '--no-watch');
  const before = snapshot(it.root);
  await expectProblem(it, ['export', 't1', '--out', it.root], { code: 2, says: [/not empty/] });
  await expectProblem(it, ['export', 't1', '--out', 'a.txt'], { code: 2, says: [/a\.txt/] });
  expect(snapshot(it.root)).toEqual(before);
});
