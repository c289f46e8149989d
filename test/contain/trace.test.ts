import fs from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { CLI, type Lab, lab, runProcess } from '../support/cli.js';
import { command, LINUX, testWith } from '../support/machine.js';
import { exec, symlink, temporary, tree } from '../support/tree.js';
import { readTrace, STRACE, type Trace } from './strace.js';

const NEEDS = [LINUX, command('strace', '-f', '-o', '/dev/null', 'true')];
const SCRIPT =
  'echo new > a.txt; rm -r d; mkdir made; echo x > made/x; ln -sfn gone link; mkdir d; echo y > d/y; rm many/1*';

testWith(
  NEEDS,
  'while a command is watched, nothing is written in the workspace but by the command, and nothing outside of it but the store',
  async () => {
    const it = withTree();
    const trace = await traced(it, ['watch', '--', '/bin/sh', '-c', SCRIPT]);
    const command = trace.processesOf(`"/bin/sh", ["/bin/sh", "-c", "${SCRIPT}"]`);
    const ours = trace.changes.filter(({ pid }) => !command.has(pid));
    expect(trace.changes.length - ours.length).toBeGreaterThan(5);
    expect(ours.filter(({ path }) => isIn(it.home, path)).length).toBeGreaterThan(5);
    expect(ours.filter(({ path }) => !isIn(it.home, path) && path !== '/dev/null')).toEqual([]);
  },
);

testWith(
  NEEDS,
  'a rewind and a redo write in the workspace and the store, and nowhere else',
  async () => {
    const it = withTree();
    await it.turn(SCRIPT, '--no-watch');
    for (const args of [['rewind'], ['redo']]) {
      const { changes } = await traced(it, args);
      const inside = changes.filter(({ path }) => isIn(it.root, path));
      expect(inside.length).toBeGreaterThan(10);
      const elsewhere = changes.filter(
        ({ path }) => !isIn(it.root, path) && !isIn(it.home, path) && path !== '/dev/null',
      );
      expect(elsewhere).toEqual([]);
    }
  },
);

function withTree(): Lab {
  const it = lab();
  const many = Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`${i}`, `old ${i}`]));
  const outside = tree(temporary(), { 'a.txt': 'outside' });
  tree(it.root, {
    'a.txt': 'old',
    d: { b: 'old', run: exec('old'), e: { f: 'old' } },
    link: symlink(outside),
    many,
  });
  fs.linkSync(join(it.root, 'd/b'), join(it.root, 'b2'));
  return it;
}

async function traced(it: Lab, args: readonly string[]): Promise<Trace> {
  const file = join(temporary(), 'trace');
  const [program = '', ...options] = STRACE;
  const words = [...options, file, process.execPath, CLI, ...args];
  const run = await runProcess(program, words, { cwd: it.root, env: it.env });
  if (run.code !== 0) throw new Error(`strace ended with ${run.code}: ${run.stderr}`);
  return readTrace(file);
}

function isIn(directory: string, path: string): boolean {
  return path === directory || path.startsWith(`${directory}/`);
}
