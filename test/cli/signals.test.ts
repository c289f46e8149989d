import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { CLI, type Lab, lab } from '../support/cli.js';
import { hostsOf } from '../support/hosts.js';
import { TERMINALS, testWith } from '../support/machine.js';
import { snapshot, tree } from '../support/tree.js';
import { eventually } from '../watch/eventually.js';
import { KEYS, onTerminal } from './terminal.js';

const WATCH = [process.execPath, CLI, 'watch'];

/** Counts the SIGINTs that it gets, says each (and that it goes on after a stop), and ends with 40 and their number on a line of input. */
const COUNTER = `
  let n = 0;
  process.on('SIGINT', () => console.log('interrupt ' + ++n));
  process.on('SIGCONT', () => console.log('goes on'));
  process.stdin.once('data', () => process.exit(40 + n));
  require('node:fs').writeFileSync('a.txt', 'new');
  console.log('ready');
`;
const counter = [process.execPath, '-e', COUNTER];

testWith([TERMINALS], 'Ctrl-C reaches the command once, and the step is closed', async () => {
  const it = withFile();
  const played = await onTerminal(
    it,
    [...WATCH, '--', ...counter],
    [
      ['ready', KEYS.interrupt],
      ['interrupt 1', KEYS.interrupt],
      ['interrupt 2', KEYS.interrupt],
      ['interrupt 3', 'quit\n'],
    ],
  );
  expect(played).toMatchObject({ missing: null, code: 43 });
  expect(played.output).not.toContain('interrupt 4');
  await expectClosed(it, 43);
});

testWith([TERMINALS], 'Ctrl-C that ends the command gives 130, as a shell does', async () => {
  const it = withFile();
  const script = 'echo new > a.txt; echo ready; exec sleep 60';
  const played = await onTerminal(
    it,
    [...WATCH, '--', 'sh', '-c', script],
    [['ready', KEYS.interrupt]],
  );
  expect(played).toMatchObject({ missing: null, code: 130 });
  await expectClosed(it, 130);
});

testWith([TERMINALS], 'Ctrl-Z stops the command, fg goes on with it', async () => {
  const it = withFile();
  const quoted = [...WATCH, '--', ...counter].map((word) => `'${word.replaceAll("'", "'\\''")}'`);
  const played = await onTerminal(
    it,
    ['bash', '--norc', '--noprofile', '-i'],
    [
      ['$ ', `set -m; ${quoted.join(' ').replaceAll('\n', ' ')}; echo "code=$?"\n`],
      ['\nready', KEYS.stop],
      ['Stopped', 'jobs -s | wc -l; fg\n'],
      ['\n1', ''],
      // On a line of its own: `fg` repeats the command first, and the terminal is not handed over yet.
      ['\ngoes on', KEYS.interrupt],
      ['interrupt 1', 'quit\n'],
      ['$ ', 'echo "code:$?"; exit\n'],
    ],
  );
  expect(played).toMatchObject({ missing: null });
  expect(played.output).toContain('\ncode:41');
  await expectClosed(it, 41);
});

testWith([TERMINALS], 'when the terminal hangs up the step is closed', async () => {
  const it = withFile();
  const script = 'echo new > a.txt; echo ready; exec sleep 60';
  // What we end with ourselves nobody sees; Node 20 even aborts where its terminal has gone.
  const played = await onTerminal(it, [...WATCH, '--', 'sh', '-c', script], [['ready', '']], {
    hangup: true,
  });
  expect(played.missing).toBe(null);
  await expectClosed(it, 129);
});

test.each([
  ['SIGTERM', 143],
  ['SIGHUP', 129],
  ['SIGINT', 130],
] as const)('%s sent to preimage is passed on, and the step is closed', async (signal, code) => {
  const it = withFile();
  const { child, ended } = start(it, 'echo new > a.txt; echo $$ > ../pid; exec sleep 60');
  await fileWritten(path.join(it.root, '..', 'pid'));
  child.kill(signal);
  expect(await ended).toBe(code);
  await expectClosed(it, code);
});

test('a command that handles SIGTERM keeps its own exit code, and gets it once', async () => {
  const it = withFile();
  const script = `
    let n = 0;
    process.on('SIGTERM', () => {
      n += 1;
      require('node:fs').writeFileSync('../got', String(n));
      setTimeout(() => process.exit(20 + n), 200);
    });
    require('node:fs').writeFileSync('a.txt', 'new');
    require('node:fs').writeFileSync('../pid', String(process.pid));
    setInterval(() => {}, 1000);
  `;
  const { child, ended } = start(it, script, process.execPath, '-e');
  await fileWritten(path.join(it.root, '..', 'pid'));
  child.kill('SIGTERM');
  expect(await ended).toBe(21);
  await expectClosed(it, 21);
});

test.each([['SIGINT'], ['SIGTERM']] as const)(
  'without a command %s closes the turn',
  async (signal) => {
    const it = withFile();
    const { child, ended, stderr } = start(it);
    await eventually('it watches', () => /watching/.test(stderr()));
    tree(it.root, { 'a.txt': 'new' });
    await eventually('the event is shown', () => /^M a\.txt/m.test(stderr()));
    child.kill(signal);
    expect(await ended).toBe(0);
    expect(await it.json(['show', 't1'])).toMatchObject({
      status: 'closed',
      files: [{ path: 'a.txt', change: 'modified' }],
    });
  },
);

test('after a kill in the middle of the command the next one recovers the step, and rewind is exact', async () => {
  const it = withFile();
  tree(it.root, { gone: { 'b.txt': 'old' } });
  const before = snapshot(it.root);
  const script = 'echo new > a.txt; rm -r gone; echo made > made; echo $$ > ../pid; exec sleep 60';
  const { child, ended } = start(it, script);
  const pid = await fileWritten(path.join(it.root, '..', 'pid'));
  onTestFinished(() => {
    process.kill(Number(pid), 'SIGKILL');
  });
  child.kill('SIGKILL');
  expect(await ended).toBe(null);
  const { store, recovered } = await it.json<{ store: string; recovered: object[] }>(['status']);
  expect(recovered).toMatchObject([{ turn: 't1' }]);
  expect(await it.json(['list'])).toMatchObject({
    turns: [{ turn: 't1', status: 'recovered', counts: { modified: 1, deleted: 2, created: 1 } }],
  });
  await eventually('the watcher host is gone', () => hostsOf(store).length === 0);
  expect((await it.run(['rewind', 't1'])).code).toBe(0);
  expect(snapshot(it.root)).toEqual(before);
});

test('the watcher does not outlive its step', async () => {
  const it = withFile();
  await it.run(['open', '--turn', 'hook']);
  const { store } = await it.json<{ store: string }>(['status']);
  await eventually('a host watches', () => hostsOf(store).length === 1);
  await it.run(['close', '--turn', 'hook']);
  await eventually('the host is gone', () => hostsOf(store).length === 0);
  await it.turn('echo new > a.txt');
  await eventually('the host is gone', () => hostsOf(store).length === 0);
});

test('the watcher goes when its workspace or its store goes', async () => {
  for (const victim of ['root', 'home'] as const) {
    const it = withFile();
    await it.run(['open', '--turn', 'hook']);
    const { store } = await it.json<{ store: string }>(['status']);
    await eventually('a host watches', () => hostsOf(store).length === 1);
    fs.rmSync(it[victim], { recursive: true });
    await eventually(`the host is gone after the ${victim}`, () => hostsOf(store).length === 0);
  }
});

function withFile(): Lab {
  const it = lab();
  tree(it.root, { 'a.txt': 'old' });
  return it;
}

/** Starts `preimage watch`, with `sh -c SCRIPT` or another program where a script is given. */
function start({ root, env }: Lab, script?: string, ...program: string[]) {
  const [name = 'sh', flag = '-c'] = program;
  const command = script === undefined ? [] : ['--', name, flag, script];
  const child = spawn(process.execPath, [CLI, 'watch', ...command], {
    cwd: root,
    env,
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  let text = '';
  child.stderr.on('data', (piece: Buffer) => {
    text += piece.toString();
  });
  const ended = new Promise<number | null>((resolve) => child.on('exit', resolve));
  return { child, ended, stderr: () => text };
}

async function fileWritten(file: string): Promise<string> {
  const text = (): string => (fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : '');
  await eventually(`${path.basename(file)} is written`, () => text() !== '');
  return text();
}

async function expectClosed(it: Lab, exitCode: number): Promise<void> {
  expect(await it.json(['show', 't1'])).toMatchObject({
    status: 'closed',
    steps: [{ exitCode }],
    files: [{ path: 'a.txt', change: 'modified' }],
  });
  expect((await it.run(['rewind'])).code).toBe(0);
  expect(fs.readFileSync(path.join(it.root, 'a.txt'), 'utf8')).toBe('old');
}
