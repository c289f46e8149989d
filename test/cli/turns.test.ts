import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { type Lab, lab } from '../support/cli.js';
import { exec, snapshot, symlink, tree } from '../support/tree.js';

const SITE = {
  'index.html': '<title>My title</title>\n',
  'styles.css': 'a { color: red }\n'.repeat(212),
  '.env': 'API_URL=https://example.com\n',
  'app.js': 'start();\n',
};
const STEPS = [
  'head -n 41 styles.css > s && mv s styles.css; echo "body {}" > theme.css',
  'sed -i s/https:..example.com/localhost/ .env; echo "<link theme.css>" >> index.html',
  'echo "rewritten();" > app.js; rm index.html; echo "b {}" >> theme.css; mkdir -p new/empty',
];

test.each([
  ['three watched commands', (it: Lab, step: string) => it.turn(step, '--turn', 'agent')],
  ['open and close around each', openClose],
])('a turn of %s is put back to before its first step, and redone', async (_, runStep) => {
  const it = lab();
  tree(it.root, SITE);
  const before = snapshot(it.root);
  for (const step of STEPS) await runStep(it, step);
  const after = snapshot(it.root);
  const shown = await it.json<{ steps: unknown[] }>(['show', 'agent']);
  expect(shown).toMatchObject({
    files: [
      { path: '.env', change: 'modified' },
      { path: 'app.js', change: 'modified' },
      { path: 'index.html', change: 'deleted' },
      { path: 'new', change: 'created' },
      { path: 'new/empty', change: 'created' },
      { path: 'styles.css', change: 'modified', pre: { bytes: SITE['styles.css'].length } },
      { path: 'theme.css', change: 'created' },
    ],
  });
  expect(shown.steps).toHaveLength(3);
  expect((await it.run(['rewind', 'agent'])).code).toBe(0);
  expect(snapshot(it.root)).toEqual(before);
  expect((await it.run(['redo'])).code).toBe(0);
  expect(snapshot(it.root)).toEqual(after);
});

async function openClose(it: Lab, step: string): Promise<void> {
  expect((await it.run(['open', '--turn', 'agent'])).code).toBe(0);
  expect(await run(it, step)).toBe(0);
  expect((await it.run(['close', '--turn', 'agent'])).code).toBe(0);
}

async function run(it: Lab, script: string): Promise<number | null> {
  const { spawnSync } = await import('node:child_process');
  return spawnSync('sh', ['-c', script], { cwd: it.root }).status;
}

test('the first capture of a path in a turn wins, and what came and went leaves no trace', async () => {
  const it = lab();
  tree(it.root, { 'a.txt': 'zero', 'gone.txt': 'zero' });
  const before = snapshot(it.root);
  const turn = ['--turn', 'x', '--no-watch'];
  await it.turn('echo one > a.txt; rm gone.txt; echo > temporary', ...turn);
  await it.turn('echo two > a.txt; echo two > gone.txt; rm temporary', ...turn);
  expect((await it.run(['cat', 'x', 'a.txt'])).stdout).toBe('zero');
  expect((await it.run(['cat', 'x', 'a.txt', '--post'])).stdout).toBe('two\n');
  const { files } = await it.json<{ files: { path: string }[] }>(['show', 'x']);
  expect(files.map((one) => one.path)).toEqual(['a.txt', 'gone.txt']);
  expect((await it.run(['rewind'])).code).toBe(0);
  expect(snapshot(it.root)).toEqual(before);
});

test('a rewind of turn 1 undoes the later turns 2 and 3 as well, and redo brings all three back', async () => {
  const it = lab();
  tree(it.root, SITE);
  const before = snapshot(it.root);
  for (const step of STEPS) await it.turn(step, '--no-watch');
  const after = snapshot(it.root);
  const result = await it.json(['rewind', 't1']);
  expect(result).toMatchObject({ turn: 't1', turns: ['t3', 't2', 't1'], complete: true });
  expect(snapshot(it.root)).toEqual(before);
  const rewound = { status: 'rewound' };
  expect(await it.json(['list'])).toMatchObject({ turns: [rewound, rewound, rewound] });
  expect((await it.run(['redo'])).code).toBe(0);
  expect(snapshot(it.root)).toEqual(after);
  const closed = { status: 'closed' };
  expect(await it.json(['list'])).toMatchObject({ turns: [closed, closed, closed] });
});

test('rewinds one after the other go back turn by turn, and redos come forward again', async () => {
  const it = lab();
  tree(it.root, SITE);
  const states = [snapshot(it.root)];
  for (const step of STEPS) {
    await it.turn(step, '--no-watch');
    states.push(snapshot(it.root));
  }
  for (const state of [2, 1, 0]) {
    expect((await it.run(['rewind'])).code).toBe(0);
    expect(snapshot(it.root)).toEqual(states[state]);
  }
  for (const state of [1, 2, 3]) {
    expect((await it.run(['redo'])).code).toBe(0);
    expect(snapshot(it.root)).toEqual(states[state]);
  }
  expect((await it.run(['rewind', 't2'])).code).toBe(0);
  expect(snapshot(it.root)).toEqual(states[1]);
  await it.turn('echo again > app.js', '--no-watch');
  expect((await it.run(['rewind', 't1'])).code).toBe(0);
  expect(snapshot(it.root)).toEqual(states[0]);
});

test('a rewind of some paths touches these and what is below them, and nothing else', async () => {
  const it = lab();
  tree(it.root, { ...SITE, src: { 'a.js': 'a', deep: { 'b.js': 'b' } }, srcs: { c: 'c' } });
  const before = snapshot(it.root);
  await it.turn('rm -r src; echo new > srcs/c; echo new > app.js; echo > made', '--no-watch');
  const after = snapshot(it.root);
  const below = { cwd: path.join(it.root, 'srcs') };
  expect((await it.run(['rewind', 't1', '../src/deep/b.js'], below)).code).toBe(0);
  const isBack = (name: string): boolean => /^src(\/deep(\/b.js)?)?$/.test(name);
  const wanted = { ...after, ...pick(before, isBack) };
  expect(snapshot(it.root)).toEqual(wanted);
  expect((await it.run(['rewind', 't1', 'src', './made'])).code).toBe(0);
  const { made: _, ...rest } = { ...after, ...pick(before, (name) => /^src(\/|$)/.test(name)) };
  expect(snapshot(it.root)).toEqual(rest);
  expect((await it.run(['rewind', 't1'])).code).toBe(0);
  expect(snapshot(it.root)).toEqual(before);
});

test('a dry run changes nothing on disk and says what the rewind then does', async () => {
  const it = lab();
  tree(it.root, { ...SITE, bin: { run: exec('x') }, link: symlink('app.js'), dir: { f: 'f' } });
  const script = 'rm -r bin dir; ln -sfn gone link; chmod 600 .env; mkdir -p n/m; echo > n/m/o';
  await it.turn(`${STEPS[0]}; ${script}`, '--no-watch');
  tree(it.root, { 'app.js': 'by the user', 'n/m/theirs': 'by the user' });
  const { store } = await it.json<{ store: string }>(['status']);
  const [workspace, kept] = [withTimes(it.root), withTimes(store)];
  const dry = await it.run(['rewind', '--dry-run', '--json']);
  expect(dry.code).toBe(1);
  expect(withTimes(it.root)).toEqual(workspace);
  expect(withTimes(store)).toEqual(kept);
  const wet = await it.run(['rewind', '--json']);
  expect(wet).toEqual(dry);
});

function pick<T>(from: Record<string, T>, wanted: (name: string) => boolean): Record<string, T> {
  return Object.fromEntries(Object.entries(from).filter(([name]) => wanted(name)));
}

/** A snapshot with the times of last change, which a write that is taken back would move. */
function withTimes(root: string): Record<string, string> {
  return Object.fromEntries(
    Object.entries(snapshot(root)).map(([name, text]) => {
      const { mtimeNs, ctimeNs } = fs.lstatSync(path.join(root, name), { bigint: true });
      return [name, `${text} ${mtimeNs} ${ctimeNs}`];
    }),
  );
}
