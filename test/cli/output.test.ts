import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { CLI, type Lab, lab } from '../support/cli.js';
import { tree } from '../support/tree.js';

test('the exit code of watch is the command’s, whatever becomes of our own messages', async () => {
  const it = lab();
  const watch = (after: string): object =>
    shell(it, `${PREIMAGE} watch -- sh -c "echo out; exit 3" ${after}`);
  expect(watch('2>&-')).toMatchObject({ status: 3, stdout: 'out\n' });
  expect(watch('2>/dev/full')).toMatchObject({ status: 3, stdout: 'out\n' });
  expect(watch('2> >(exec true)')).toMatchObject({ status: 3, stdout: 'out\n' });
  const closed = { status: 'closed' };
  expect(await it.json(['list'])).toMatchObject({ turns: [closed, closed, closed] });
});

test('a reader that goes away early is no error', async () => {
  const it = lab();
  tree(it.root, Object.fromEntries(Array.from({ length: 3000 }, (_, i) => [`file-${i}`, 'old'])));
  await it.turn('rm file-*', '--no-watch');
  const { status, stderr } = shell(
    it,
    `${PREIMAGE} show t1 | head -n 1 >&2; echo \${PIPESTATUS[0]}`,
  );
  expect(status).toBe(0);
  expect(stderr).toMatch(/^turn t1.*\n$/);
  expect(shell(it, `${PREIMAGE} show t1 | wc -l`).stdout.trim()).toBe('3003');
});

test('output that cannot be written is one clear message, and no success', async () => {
  const it = lab();
  await it.turn('echo a > a', '--no-watch');
  for (const command of ['list', 'show t1 --json', 'cat t1 a --post']) {
    const { status, stderr } = shell(it, `${PREIMAGE} ${command} >/dev/full`);
    expect(status).not.toBe(0);
    expect(stderr).toMatch(/no space/i);
    expect(stderr).not.toMatch(/\n\s+at /);
  }
});

test('watch writes nothing on stdout, and hands stdin on', () => {
  const it = lab();
  const command = `${PREIMAGE} watch --json --label x -- sh -c "tr a-z A-Z; echo err >&2"`;
  const { status, stdout } = shell(it, `echo text | ${command}`);
  expect({ status, stdout }).toEqual({ status: 0, stdout: 'TEXT\n' });
});

test('with --quiet a turn in which all went well says nothing', async () => {
  const it = lab();
  const quiet = { code: 0, stdout: '', stderr: '' };
  expect(await it.run(['watch', '--quiet', '--', 'touch', 'a'])).toEqual(quiet);
  expect(await it.run(['open', '--turn', 'x', '--quiet'])).toEqual(quiet);
  expect(await it.run(['close', '--turn', 'x', '--quiet'])).toEqual(quiet);
  expect(await it.run(['rewind', '--quiet', 't1'])).toEqual(quiet);
  expect(await it.run(['redo', '--quiet'])).toEqual(quiet);
});

test('the summary of a turn is on stderr and says how to undo it', async () => {
  const it = lab();
  tree(it.root, { 'a.txt': 'old', 'b.txt': 'old' });
  const { stderr } = await it.turn('echo new > a.txt; rm b.txt; echo > c', '--turn', 'fix');
  expect(stderr).toMatch(/fix.*1 created.*1 modified.*1 deleted.*preimage rewind fix/);
});

test('every command has a help with an example, and the version is told', async () => {
  const it = lab();
  const { stdout } = await it.run(['--help']);
  const names =
    'watch open close list show diff report blame search stats cat log rewind redo status export'.split(
      ' ',
    );
  for (const name of names) expect(stdout).toMatch(new RegExp(`^  ${name}\\b`, 'm'));
  const helps = await Promise.all(names.map((name) => it.run([name, '--help'])));
  for (const help of helps) {
    expect(help).toMatchObject({ code: 0, stderr: '' });
    for (const part of [/^Example:\n {2}preimage /m, /--root/, /--store/, /--json/, /--quiet/]) {
      expect(help.stdout).toMatch(part);
    }
  }
  expect(await it.run(['--version'])).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
  });
});

const PREIMAGE = `"${process.execPath}" "${CLI}"`;

function shell({ root, env }: Lab, script: string) {
  return spawnSync('bash', ['-c', script], { cwd: root, env, encoding: 'utf8' });
}
