import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { CLI, type Lab, lab } from '../support/cli.js';
import { type Entry, exec, snapshot, symlink, temporary, tree } from '../support/tree.js';

type Tree = Record<string, Entry>;
const LINES = Array.from({ length: 40 }, (_, i) => `line ${i}`).join('\n');

/** What stood, and what a turn did to it: the turn's diff makes the one out of the other. */
const CASES: readonly (readonly [what: string, before: Tree, turn: string])[] = [
  [
    'a text that changed in three places',
    { 'a.txt': `${LINES}\n` },
    'sed -i "1d;20s/$/!/;40a end" a.txt',
  ],
  [
    'files that were made and deleted',
    { 'gone.txt': 'g\n', d: { x: 'x\n' } },
    'rm -r *; mkdir n; echo n > n/n',
  ],
  [
    'empty files that were made and deleted',
    { gone: '', filled: '', emptied: 'e\n' },
    'rm gone; : > made; echo f > filled; : > emptied',
  ],
  [
    'a file that may be executed now',
    { run: '#!/bin/sh\n', was: exec('w\n') },
    'chmod 755 run; chmod 644 was; echo x >> was',
  ],
  ['an executable that was made', { a: 'a\n' }, 'echo x > run; chmod 755 run; rm a'],
  [
    'links that were made, moved and deleted',
    { l: symlink('a'), gone: symlink('no/where') },
    'ln -sfn b l; rm gone; ln -s .. up',
  ],
  [
    'a file that became a link, and a link that became a file',
    { f: 'f\n', l: symlink('f') },
    'rm f l; ln -s l f; echo l > l',
  ],
  [
    'a directory that became a file, and a file that became a directory',
    { d: { x: 'x\n' }, f: 'f\n' },
    'rm -r d f; echo d > d; mkdir f; echo y > f/y',
  ],
  [
    'texts without a newline at the end',
    { a: 'a', b: 'b\n', c: 'c\nc' },
    'printf a2 > a; printf b > b; echo >> c; printf n > new',
  ],
  [
    'texts of blank lines, carriage returns and tabs',
    { a: '\n\n\n', crlf: 'a\r\nb\r\n', cr: 'a\rb', tab: '\t\n' },
    'echo >> a; printf "a\\r\\nB\\r\\n" > crlf; printf "a\\rc" > cr; printf "a\\nb\\n" > tab; printf "\\r" > new',
  ],
  [
    'lines that look like a diff',
    { a: '-- a\n++ b\n@@ -1 +1 @@\ndiff --git a/a b/a\n' },
    'printf -- "--- x\\n+++ y\\n@@\\n" > a; rm -f q; echo "-- q" > q',
  ],
  [
    'text that is not UTF-8',
    { a: Buffer.from('caf\xe9\nb\n', 'latin1') },
    "printf 'caf\\351!\\nb\\n' > a; printf '\\377\\n' > n",
  ],
  [
    'text in other alphabets and line separators',
    { a: 'é\u2028x\u0085y\n', b: '🦀\n' },
    'echo ü >> a; echo 🦀🦀 > b',
  ],
  [
    'names that have to be quoted',
    {
      'with space': 's\n',
      'trailing ': 't\n',
      '"quoted"': 'q\n',
      'new\nline': 'n\n',
      'tab\tbed': 't\n',
      'back\\slash': 'b\n',
      'é 🦀': 'u\n',
      '-dash': 'd\n',
      'esc\u001b[31m': 'e\n',
      'a b/c d': 'nested\n',
    },
    'find . -type f -exec sh -c \'for f; do echo new >> "$f"; done\' _ {} +; echo x > "made here"; rm -- -dash "trailing "',
  ],
];

test.each(CASES)('git applies the diff of %s', async (_, before, turn) => {
  const it = lab();
  const copy = tree(temporary(), before);
  tree(it.root, before);
  await it.turn(`umask 022; ${turn}`, '--no-watch');
  const patch = patchOf(it, 't1');
  const apply = spawnSync('git', ['apply', '--whitespace=nowarn', '-'], {
    cwd: copy,
    input: patch,
  });
  expect(apply.stderr.toString()).toBe('');
  expect(apply.status).toBe(0);
  expect(files(copy)).toEqual(files(it.root));
});

test('git applies the diff of a name that is not UTF-8', async () => {
  const it = lab();
  const copy = temporary();
  const name = Buffer.from('/caf\xe9', 'latin1');
  for (const root of [it.root, copy])
    fs.writeFileSync(Buffer.concat([Buffer.from(root), name]), 'a\n');
  await it.turn('echo new >> "$(printf \'caf\\351\')"', '--no-watch');
  const apply = spawnSync('git', ['apply', '-'], { cwd: copy, input: patchOf(it, 't1') });
  expect(apply.stderr.toString()).toBe('');
  expect(files(copy)).toEqual(files(it.root));
});

test('of some paths only these and what is below them is shown', async () => {
  const it = lab();
  await it.turn('mkdir a; echo x > a/x; echo y > b; echo z > ab', '--no-watch');
  expect(headsOf(patchOf(it, 't1', 'a'))).toEqual(['diff --git a/a/x b/a/x']);
  expect(headsOf(patchOf(it, 't1', 'b', 'a/x'))).toEqual([
    'diff --git a/a/x b/a/x',
    'diff --git a/b b/b',
  ]);
});

test('binary files are named, not dumped', async () => {
  const it = lab();
  tree(it.root, { 'old.bin': Buffer.from('SECRET\0bytes'), 'a.txt': 'a\n' });
  await it.turn(
    'printf "SECRET\\000other" > old.bin; printf "SECRET\\000" > new.bin',
    '--no-watch',
  );
  const patch = patchOf(it, 't1').toString();
  expect(patch).toMatch(/^Binary files a\/old\.bin and b\/old\.bin differ$/m);
  expect(patch).toMatch(/^Binary files \/dev\/null and b\/new\.bin differ$/m);
  expect(patch).not.toContain('SECRET');
});

test('with --binary git applies binary files too, there and back', async () => {
  const it = lab();
  const before: Tree = {
    'old.bin': Buffer.from('old\0bytes'),
    'gone.bin': Buffer.from([0, 1, 2, 255]),
    'same.bin': Buffer.from('s\0'),
    'emptied.bin': Buffer.from('\0'),
    'a b.bin': Buffer.alloc(5000, 'x\0yz'),
    was: 'text\n',
    'text.txt': 'a\n',
  };
  const copy = tree(temporary(), before);
  tree(it.root, before);
  await it.turn(
    'umask 022; printf "new\\000" > old.bin; chmod 755 old.bin; rm gone.bin; head -c 70000 /dev/urandom > made.bin; ' +
      'chmod 755 same.bin; : > emptied.bin; printf "y" >> "a b.bin"; printf "n\\000" > was; ' +
      'echo b > text.txt; chmod 755 text.txt',
    '--no-watch',
  );
  const patch = patchOf(it, 't1', '--binary');
  expect(patch.toString()).toContain('GIT binary patch\nliteral ');
  expect(applied(copy, patch, '--binary')).toEqual('');
  expect(files(copy)).toEqual(files(it.root));
  expect(applied(copy, patch, '--reverse')).toEqual('');
  expect(files(copy)).toEqual(files(tree(temporary(), before)));
});

test('of a binary file that is only named git refuses the patch rather than half of it', async () => {
  const it = lab();
  const before = { 'a.bin': Buffer.from('a\0'), 'a.txt': 'a\n' };
  const copy = tree(temporary(), before);
  tree(it.root, before);
  await it.turn('printf "b\\000" > a.bin; echo b > a.txt', '--no-watch');
  expect(applied(copy, patchOf(it, 't1'))).toMatch(/a\.bin/);
  expect(files(copy)).toEqual(files(tree(temporary(), before)));
});

test('one line of a text of 30 MB is a small diff; a text that is too large is said, and not half shown', async () => {
  const it = lab();
  const line = `${'x'.repeat(99)}\n`;
  const before = { 'log.txt': line.repeat(300_000), 'a.txt': 'a\n' };
  const copy = tree(temporary(), before);
  tree(it.root, before);
  await it.turn('echo last >> log.txt; echo b > a.txt', '--max-file', '0', '--no-watch');
  const patch = patchOf(it, 't1');
  expect(patch.toString()).toContain('@@ -299998,3 +299998,4 @@');
  expect(applied(copy, patch)).toBe('');
  expect(files(copy)).toEqual(files(it.root));

  const larger = 'for i in 1 2; do cat log.txt; done > n; mv n log.txt; cp log.txt made.txt';
  await it.turn(larger, '--max-file', '0', '--no-watch');
  const cut = patchOf(it, 't2');
  expect(cut.length).toBeLessThan(2000);
  expect(cut.toString()).toMatch(/^# too large to be shown: log\.txt \(57 MB\)$/m);
  expect(cut.toString()).toMatch(/^# too large to be shown: made\.txt \(57 MB\)$/m);
  const stood = files(copy);
  expect(applied(copy, cut)).not.toBe('');
  expect(files(copy)).toEqual(stood);
  expect(await it.json(['diff', 't2'])).toMatchObject({
    files: [
      { path: 'log.txt', left: 'too-large' },
      { path: 'made.txt', left: 'too-large' },
    ],
  });
});

test('two texts that share nothing give a diff that git applies, without a search for hours', async () => {
  const it = lab();
  const before = {
    'a.txt': `${lines('old', 60_000)}last`,
    'b.txt': `first\n${lines('b', 20_000)}`,
  };
  const copy = tree(temporary(), before);
  tree(it.root, { ...before, 'new.txt': `${lines('new', 60_000)}last` });
  fs.renameSync(path.join(it.root, 'new.txt'), path.join(it.home, '..', 'new.txt'));
  await it.turn('mv ../new.txt a.txt; tac b.txt > n; mv n b.txt', '--no-watch');
  expect(applied(copy, patchOf(it, 't1'))).toBe('');
  expect(files(copy)).toEqual(files(it.root));
});

test('a file over the limit is said to be missing from the diff', async () => {
  const it = lab();
  tree(it.root, { 'big.txt': 'x\n'.repeat(2000), 'a.txt': 'a\n' });
  const copy = tree(temporary(), { 'a.txt': 'a\n' });
  await it.turn('echo >> big.txt; echo b > a.txt', '--max-file', '1KB', '--no-watch');
  const patch = patchOf(it, 't1');
  expect(patch.toString()).toMatch(/big\.txt.*over the limit/);
  expect(spawnSync('git', ['apply', '-'], { cwd: copy, input: patch }).status).toBe(0);
  expect(fs.readFileSync(path.join(copy, 'a.txt'), 'utf8')).toBe('b\n');
});

test('in a pipe there are no colour codes, with --color there are', async () => {
  const it = lab();
  tree(it.root, { 'a.txt': 'a\n' });
  await it.turn('echo b > a.txt; echo c > c', '--no-watch');
  const env = { NO_COLOR: '', FORCE_COLOR: '', TERM: 'xterm-256color', COLORTERM: 'truecolor' };
  for (const args of [['diff', 't1'], ['show', 't1'], ['list'], ['log', 'c'], ['status']]) {
    expect((await it.run(args, { env })).stdout).not.toContain('\u001b');
  }
  expect((await it.run(['diff', 't1', '--color'], { env })).stdout).toContain('\u001b[');
});

test('names are printed so that a terminal does nothing by them', async () => {
  const it = lab();
  const names = [
    '\u001b[31mred',
    'new\nline',
    'bell\u0007',
    'bidi\u202eevil',
    'c1\u009b31m',
    '\u007f',
  ];
  tree(it.root, Object.fromEntries(names.map((name) => [name, 'old'])));
  const label = 'label \u001b]0;title\u0007';
  await it.turn('for f in *; do echo new > "$f"; done', '--label', label, '--no-watch');
  for (const args of [
    ['show', 't1'],
    ['list'],
    ['log', '.'],
    ['rewind', '--dry-run'],
    ['rewind'],
  ]) {
    const { stdout } = await it.run(args);
    expect(stdout.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    if (args[0] !== 'list')
      for (const name of ['red', 'evil', 'bell']) expect(stdout).toContain(name);
  }
});

/** The bytes that `preimage diff` writes into a pipe. */
function patchOf({ root, env }: Lab, ...args: string[]): Buffer {
  const diff = spawnSync(process.execPath, [CLI, 'diff', ...args], {
    cwd: root,
    env,
    maxBuffer: 64 * 1024 * 1024,
  });
  expect(diff.stderr.toString()).toBe('');
  expect(diff.status).toBe(0);
  return diff.stdout;
}

/** What git says against a patch. */
function applied(cwd: string, input: Buffer, ...options: string[]): string {
  const apply = spawnSync('git', ['apply', '--whitespace=nowarn', ...options, '-'], { cwd, input });
  return `${apply.stderr}${apply.status === 0 ? '' : ` status ${apply.status}`}`;
}

function lines(word: string, count: number): string {
  return Array.from({ length: count }, (_, i) => `${word} ${i}\n`).join('');
}

function headsOf(patch: Buffer): string[] {
  return patch
    .toString()
    .split('\n')
    .filter((line) => line.startsWith('diff '));
}

/** What git knows of a tree: everything but directories. */
function files(root: string): Record<string, string> {
  const all = Object.entries(snapshot(root));
  return Object.fromEntries(all.filter(([, text]) => !text.startsWith('directory')));
}
