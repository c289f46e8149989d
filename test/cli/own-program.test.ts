import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { CLI, type Lab, lab, runProcess } from '../support/cli.js';
import { processesNaming } from '../support/hosts.js';
import { snapshot, temporary, tree } from '../support/tree.js';
import { eventually } from '../watch/eventually.js';

test('a watcher host that was started early and is not needed ends by itself', async () => {
  const { run, directory } = installed(lab());
  for (const args of [
    ['open'],
    ['watch', '--bogus'],
    ['watch', '--root', '/nowhere', '--', 'true'],
  ]) {
    const { code, stderr } = await run(args);
    expect([code, stderr]).toEqual([2, expect.stringMatching(/^preimage: /)]);
    const host = path.join(directory, 'dist', 'turn', 'host.js');
    await eventually('no host waits', () => processesNaming(host).length === 0);
  }
});

test('a command that removes preimage itself is watched to its end, and what it did is rewound', async () => {
  // As `npm ci` does where preimage is installed in the project.
  const it = lab();
  tree(it.root, {
    'a.txt': 'old',
    many: Object.fromEntries(names(300).map((name) => [name, name])),
  });
  const before = snapshot(it.root);
  const { run, directory } = installed(it);
  const script = `rm -rf '${directory}' many; echo new > a.txt; echo made > made.txt`;
  const watched = await run(['watch', '--turn', 'ci', '--', 'sh', '-c', script]);
  expect(watched).toMatchObject({ code: 0, stdout: '' });
  expect(watched.stderr).toMatch(/^preimage: turn ci: 1 created, 1 modified, 301 deleted/);
  expect(fs.existsSync(directory)).toBe(false);
  expect(await it.run(['rewind', 'ci'])).toMatchObject({ code: 0, stderr: '' });
  expect(snapshot(it.root)).toEqual(before);
});

function names(count: number): string[] {
  return Array.from({ length: count }, (_, i) => `file ${i}`);
}

/** Copies the built package to a place of its own, and runs it from there in a lab. */
function installed({ root, env }: Lab) {
  const directory = path.join(temporary(), 'preimage');
  const built = path.join(path.dirname(CLI), '..');
  fs.cpSync(built, path.join(directory, 'dist'), { recursive: true });
  const packageRoot = path.join(built, '..');
  fs.copyFileSync(path.join(packageRoot, 'package.json'), path.join(directory, 'package.json'));
  const modules = path.join(packageRoot, 'node_modules');
  fs.symlinkSync(modules, path.join(directory, 'node_modules'));
  const main = path.join(directory, 'dist', 'cli', 'main.js');
  const run = (args: readonly string[]) =>
    runProcess(process.execPath, [main, ...args], { cwd: root, env });
  return { directory, run };
}
