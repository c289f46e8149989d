import fs from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { lab } from '../support/cli.js';
import { temporary } from '../support/tree.js';

const NAMES = [
  '\x1b]0;owned\x07',
  '\x1b[2J\x1b[H',
  'line\nbreak',
  'back\rdeleted\b\b\b',
  '\u202egpj.exe',
  '\x9b31m',
  'zero\u200bwidth',
];

test('no name, label, command or argument reaches the terminal as an escape sequence', async () => {
  const it = lab();
  for (const name of NAMES) fs.writeFileSync(join(it.root, name), 'old');
  fs.symlinkSync('\x1b[31mtarget', join(it.root, 'link'));
  const script = 'for f in * ; do rm -- "$f"; mkdir -- "$f"; echo x > "$f/new $f"; done';
  const [evil = ''] = NAMES;
  const said: string[] = [];
  const run = async (...args: string[]): Promise<void> => {
    const { stdout, stderr } = await it.run(args);
    said.push(stdout, stderr);
  };
  await run('watch', '--label', evil, '--', 'sh', '-c', script, evil);
  await run('open', '--turn', 'hook', '--label', evil);
  fs.rmSync(join(it.root, evil), { recursive: true });
  await run('rewind', 't1');
  await run('close', '--turn', 'hook');
  for (const args of [
    ['list'],
    ['show', 't1'],
    ['show', 't1', '--timeline'],
    ['log', evil],
    ['status', '--exclude', `${evil}*`],
    ['rewind', 't1', '--dry-run'],
    ['rewind', 't1'],
    ['redo'],
    ['show', evil],
    ['rewind', 't1', `../${evil}`],
    ['cat', 't1', evil],
    ['watch', '--', evil],
    ['open', '--turn', evil],
    [evil],
    [`--${evil}`],
    ['export', 't1', '--out', join(it.root, evil, 'no', 'such')],
  ]) {
    await run(...args);
  }
  const elsewhere = join(temporary(), evil);
  fs.mkdirSync(elsewhere);
  for (const args of [['list'], ['status'], ['watch', '--', 'true'], ['status']]) {
    const { stdout, stderr } = await it.run(args, { cwd: elsewhere });
    said.push(stdout, stderr);
  }
  expect(said.filter((text) => ACTS.test(text))).toEqual([]);
  expect(said.join('')).toContain('\\x1b]0;owned\\x07');
});

/** What a terminal obeys: controls but for the line feed, and characters that turn text around. */
const ACTS = /[^\P{Cc}\n]|[\u200b\u202a-\u202e\u2066-\u2069]/u;
