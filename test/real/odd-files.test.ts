import { once } from 'node:events';
import { existsSync, lstatSync, readFileSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { lab, runProcess } from '../support/cli.js';
import { command, OWNERS, SED_IN_PLACE, testWith } from '../support/machine.js';
import { symlink, tree } from '../support/tree.js';
import { git } from './repository.js';
import { thereAndBack, turnAndRewind } from './round.js';

describe('among sockets and fifos', () => {
  const FIFO = command('mkfifo');

  testWith([FIFO], 'the rest is captured, and no open waits for a writer', async () => {
    const at = lab();
    tree(at.root, { 'a.txt': 'a\n', run: { 'pid.txt': '1\n' } });
    await listen(path.join(at.root, 'run/app.sock'));
    await runProcess('mkfifo', ['run/queue'], { cwd: at.root, env: at.env });
    await thereAndBack(at, `${SED_IN_PLACE} s/a/b/ a.txt; rm run/pid.txt; echo x > run/new`);
    expect(lstatSync(path.join(at.root, 'run/app.sock')).isSocket()).toBe(true);
    expect(lstatSync(path.join(at.root, 'run/queue')).isFIFO()).toBe(true);
    const status = (await at.run(['status'])).stdout;
    expect(status).toContain('run/app.sock');
  });

  testWith(
    [FIFO],
    'one that the turn makes is named, and a file that it replaced is back or named',
    async () => {
      const at = lab();
      tree(at.root, { 'a.txt': 'a\n', 'b.txt': 'b\n' });
      const script = 'mkfifo new-queue; rm a.txt; mkfifo a.txt; echo c > b.txt';
      const { rewound } = await turnAndRewind(at, script);
      expect(readFileSync(path.join(at.root, 'b.txt'), 'utf8')).toBe('b\n');
      const named = rewound.outcomes.map(({ path: name }) => name);
      expect(named).toEqual(['a.txt', 'b.txt', 'new-queue']);
      const back = lstatSync(path.join(at.root, 'a.txt')).isFile();
      const outcome = rewound.outcomes.find(({ path: name }) => name === 'a.txt')?.outcome;
      expect(outcome === 'restored').toBe(back);
    },
  );
});

describe('nested repositories', () => {
  test('one without commits and one with are captured like any directory', async () => {
    const at = lab();
    tree(at.root, {
      'a.txt': 'a\n',
      empty: { 'work.txt': 'never committed\n' },
      full: { 'code.js': 'code\n', '.gitignore': 'ignored\n', ignored: 'i\n' },
      'link to empty': symlink('empty'),
    });
    await git(at, 'init', '--quiet', 'empty');
    await git(at, 'init', '--quiet', 'full');
    await git(at, '-C', 'full', 'add', 'code.js', '.gitignore');
    await git(at, '-C', 'full', 'commit', '--quiet', '-m', 'one');
    await git(at, 'init', '--quiet');
    await thereAndBack(at, 'rm empty/work.txt; echo 2 > full/code.js; rm full/ignored; rm a.txt');
    await thereAndBack(at, 'git -C full rm -rfq .; git -C full clean -fdxq; rm -rf empty', {
      rewind: ['--git'],
    });
    expect(await git(at, '-C', 'full', 'status', '--porcelain')).toBe('');
    expect(existsSync(path.join(at.root, 'empty/.git/HEAD'))).toBe(true);
  });
});

testWith([OWNERS], 'files of other users come back to them', async () => {
  const at = lab();
  tree(at.root, { 'mine.txt': 'm\n', 'theirs.txt': 't\n', 'dir/theirs.txt': 't\n' });
  await runProcess('chown', ['-R', '12345:23456', 'dir', 'theirs.txt'], {
    cwd: at.root,
    env: at.env,
  });
  const { before } = await thereAndBack(at, 'rm -r dir; echo x > theirs.txt; chown 99 mine.txt');
  expect(before['dir/theirs.txt']).toContain('12345:23456');
});

async function listen(at: string): Promise<void> {
  const server = net.createServer().listen(at);
  onTestFinished(() => {
    server.close();
  });
  await once(server, 'listening');
  writeFileSync(`${at}.txt`, 'beside the socket\n');
}
