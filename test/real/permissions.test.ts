import { chmodSync, existsSync, lstatSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect } from 'vitest';
import { CLI, type Lab, lab, type Run, runProcess } from '../support/cli.js';
import { HELD_TO_THE_MODE, testWith, UNPRIVILEGED } from '../support/machine.js';
import { dir, file, snapshot, tree } from '../support/tree.js';
import { calm, differences, rewoundFrom, troubles } from './round.js';

const isRoot = process.getuid?.() === 0;

describe('an unreadable file', () => {
  testWith([UNPRIVILEGED], 'is named and skipped; all the rest is captured', async () => {
    const at = lab();
    tree(at.root, {
      'a.txt': 'a\n',
      secret: { locked: file('cannot be read\n', 0o000), open: 'open\n' },
      'z.txt': 'z\n',
    });
    const before = snapshotUnlocked(at);
    const watched = await held(at, [
      'watch',
      '--',
      'sh',
      '-c',
      'rm a.txt secret/open; echo >> z.txt',
    ]);
    expect(watched.code).toBe(0);
    const status = (await held(at, ['status'])).stdout;
    expect(status).toMatch(/secret\/locked .*permission denied/);
    const rewound = rewoundFrom(await held(at, ['rewind', '--json']));
    expect(differences(before, snapshotUnlocked(at))).toEqual([]);
    expect(rewound).toMatchObject({ code: 0, complete: true });
  });

  testWith([UNPRIVILEGED], 'that the turn deletes is reported as not restorable', async () => {
    const at = lab();
    tree(at.root, { 'a.txt': 'a\n', locked: file('cannot be read\n', 0o000) });
    expect((await held(at, ['watch', '--', 'sh', '-c', 'rm -f locked a.txt'])).code).toBe(0);
    const rewound = rewoundFrom(await held(at, ['rewind', '--json']));
    expect(rewound.outcomes).toMatchObject([
      { path: 'a.txt', outcome: 'restored' },
      { path: 'locked', outcome: 'skipped' },
    ]);
    expect(rewound.code).toBe(1);
  });

  testWith(
    [UNPRIVILEGED],
    'made readable by the turn is left as it is, never deleted',
    async () => {
      const at = lab();
      tree(at.root, { 'a.txt': 'a\n', locked: file('once locked\n', 0o000) });
      await held(at, ['watch', '--', 'sh', '-c', 'chmod 644 locked; echo b > a.txt']);
      const rewound = rewoundFrom(await held(at, ['rewind', '--json']));
      expect(readFileSync(path.join(at.root, 'locked'), 'utf8')).toBe('once locked\n');
      expect(readFileSync(path.join(at.root, 'a.txt'), 'utf8')).toBe('a\n');
      expect(rewound.code).toBe(1);
    },
  );

  testWith([UNPRIVILEGED], 'directory: what is in it is never taken for absent', async () => {
    const at = lab();
    tree(at.root, { 'a.txt': 'a\n', closed: { inner: 'inner\n' } });
    const closed = path.join(at.root, 'closed');
    chmodSync(closed, 0o000);
    await held(at, ['watch', '--', 'sh', '-c', 'chmod 755 closed; echo b > a.txt']);
    const rewound = rewoundFrom(await held(at, ['rewind', '--json']));
    chmodSync(closed, 0o755);
    expect(readFileSync(path.join(closed, 'inner'), 'utf8')).toBe('inner\n');
    expect(readFileSync(path.join(at.root, 'a.txt'), 'utf8')).toBe('a\n');
    expect(rewound.outcomes.filter(({ outcome }) => outcome === 'deleted')).toEqual([]);
  });
});

describe('permissions that stand in the way of the rewind itself', () => {
  const turns = {
    'a file made in a directory that is then closed to writing':
      'mkdir made; echo x > made/x; chmod 555 made',
    'a file removed from a directory that is closed to writing':
      'chmod u+w closed; rm closed/one; chmod 555 closed',
    'a file rewritten in a directory that is closed to writing': 'echo new > closed/two',
    'a directory closed to writing that is removed': 'chmod u+w closed; rm -r closed',
    'a file replaced by one that is read-only': 'rm -f a.txt; echo x > a.txt; chmod 444 a.txt',
    'a file that the turn makes unreadable': 'chmod 000 a.txt',
    'a file that the turn rewrites and makes unreadable': 'echo x > a.txt; chmod 000 a.txt',
    'a directory that the turn closes to everybody': 'chmod 000 open; echo x > a.txt',
  };
  for (const [words, script] of Object.entries(turns)) {
    testWith([UNPRIVILEGED], `${words}: all is as before`, async () => {
      const at = lab();
      tree(at.root, {
        'a.txt': 'a\n',
        closed: dir(0o555, { one: 'one\n', two: 'two\n' }),
        open: { a: 'a\n', b: { c: 'c\n' } },
      });
      const before = snapshot(at.root);
      expect((await held(at, ['watch', '--', 'sh', '-ec', script])).code).toBe(0);
      const rewound = rewoundFrom(await held(at, ['rewind', '--json']));
      for (const name of ['a.txt', 'open']) lend(path.join(at.root, name));
      expect(troubles(rewound)).toEqual([]);
      expect(differences(before, snapshot(at.root))).toEqual([]);
      expect(rewound).toMatchObject({ code: 0, complete: true });
    });
  }
});

/** Lets a snapshot see what a rewind has failed to open again; the mode it finds is still wrong. */
function lend(at: string): void {
  if (!existsSync(at)) return;
  const mode = lstatSync(at).mode & 0o7777;
  if ((mode & 0o400) === 0) chmodSync(at, mode | 0o500);
}

/** Runs the command line without the right to read what the mode forbids. */
function held(at: Lab, args: readonly string[]): Promise<Run> {
  const whole = [...HELD_TO_THE_MODE, process.execPath, CLI, ...args];
  const [program = '', ...rest] = whole;
  return runProcess(program, rest, { cwd: at.root, env: calm(at) });
}

/** A snapshot that can be taken although a file is locked: modes are compared, then lent. */
function snapshotUnlocked(at: Lab): ReturnType<typeof snapshot> {
  const locked = path.join(at.root, 'secret/locked');
  const mode = lstatSync(locked).mode & 0o7777;
  if (isRoot) return snapshot(at.root);
  chmodSync(locked, 0o400);
  const seen = { ...snapshot(at.root), 'mode of locked': mode.toString(8) };
  chmodSync(locked, mode);
  return seen;
}
