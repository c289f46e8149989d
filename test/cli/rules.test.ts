import fs from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type Lab, lab } from '../support/cli.js';
import { snapshot, tree } from '../support/tree.js';

/** Runs a script as a turn, however it ends. */
function ran(it: Lab, script: string, ...options: string[]) {
  return it.run(['watch', ...options, '--', 'sh', '-c', script]);
}

function project(): Lab {
  const it = lab();
  tree(it.root, {
    src: { 'a.ts': 'old', deep: { 'b.ts': 'old' } },
    '.env': 'TOKEN=1',
    'README.md': 'old',
    pkg: { '.env.local': 'TOKEN=2' },
  });
  return it;
}

test('a change outside of what is allowed is named, and the code is 1 where the command’s was 0', async () => {
  const it = project();
  const run = await ran(it, 'echo > src/a.ts; echo > README.md', '--allow', 'src/**', '--no-watch');
  expect(run.code).toBe(1);
  expect(run.stderr).toContain('rule broken: README.md: not allowed\n');
  expect(run.stderr).not.toContain('src/a.ts:');
  expect(await it.json(['show', 't1'])).toMatchObject({
    steps: [{ exitCode: 0, broken: [{ path: 'README.md', rule: 'not allowed' }] }],
  });
});

test('what is not looked into cannot be held to a rule, and that is said', async () => {
  const it = project();
  tree(it.root, { node_modules: { p: { 'index.js': 'old' } } });
  const script = 'echo > node_modules/p/index.js';
  const run = await ran(it, script, '--deny', 'node_modules', '--no-watch');
  expect(run.stderr).toContain('node_modules/ not looked into, so no rule is held there');
  const looked = ['--deny', 'node_modules', '--include', 'node_modules', '--no-watch'];
  const again = await ran(it, script.replace('>', '>>'), ...looked);
  expect(again.code).toBe(1);
  expect(again.stderr).toContain('rule broken: node_modules/p/index.js: denied');
});

test('the command’s own code is kept where it is not 0', async () => {
  const it = project();
  const run = await ran(it, 'echo > README.md; exit 7', '--allow', 'src', '--no-watch');
  expect(run.code).toBe(7);
  expect(run.stderr).toContain('rule broken: README.md: not allowed\n');
});

test('what keeps to the rules ends with 0: directories on the way to it are allowed', async () => {
  const it = project();
  const script = 'mkdir -p made/new/er; echo > made/new/er/f; rm src/deep/b.ts; rmdir src/deep';
  const rules = ['--allow', 'made/new/**', '--allow', 'src/deep', '--deny', '.env*'];
  expect(await ran(it, script, ...rules, '--no-watch')).toMatchObject({ code: 0 });
});

test('what is denied is denied wherever it stands, allowed or not, also when it is deleted', async () => {
  const it = project();
  const script = 'rm .env; echo >> pkg/.env.local; chmod 600 src/a.ts';
  const run = await ran(it, script, '--allow', '**', '--deny', '.env*', '--no-watch');
  expect(run.code).toBe(1);
  expect(run.stderr.match(/rule broken: .*/g)).toEqual([
    'rule broken: .env: denied by ".env*"',
    'rule broken: pkg/.env.local: denied by ".env*"',
  ]);
});

test('rules may stand in the settings; flags win, list by list', async () => {
  const it = project();
  fs.writeFileSync(join(it.root, '.preimage.json'), '{ "deny": [".env*"], "allow": ["src"] }');
  const run = await ran(it, 'echo > README.md; echo > .env', '--no-watch');
  expect(run.code).toBe(1);
  expect(run.stderr.match(/rule broken: .*/g)).toHaveLength(2);
  expect((await ran(it, 'echo 2 > README.md', '--allow', 'README.md', '--no-watch')).code).toBe(0);
  fs.writeFileSync(join(it.root, '.preimage.json'), '{ "deny": ".env" }');
  expect((await ran(it, 'echo > README.md')).stderr).toMatch(/\.preimage\.json, deny: /);
});

for (const [how, script, code] of [
  ['breaks a rule', 'echo > src/a.ts; rm .env; mkdir made', 1],
  ['fails', 'echo > src/a.ts; rm -r src; exit 3', 3],
  ['is killed', 'echo > src/a.ts; rm README.md; kill -9 $$', 137],
] as const) {
  test(`--atomic puts all back at once when the command ${how}, and keeps its code`, async () => {
    const it = project();
    fs.utimesSync(join(it.root, 'src/a.ts'), 1_000_000_000, 1_000_000_000);
    const before = snapshot(it.root);
    const run = await ran(it, script, '--atomic', '--deny', '.env', '--no-watch');
    expect(run.code).toBe(code);
    expect(run.stderr).toContain('all of it was put back at once (--atomic)');
    expect(run.stderr).not.toContain('undo:');
    expect(snapshot(it.root)).toEqual(before);
    // Exact to the microsecond: some versions of Node keep what is beyond.
    expect(Math.floor(fs.statSync(join(it.root, 'src/a.ts')).mtimeMs)).toBe(1_000_000_000_000);
    expect(await it.json(['list'])).toMatchObject({ turns: [{ turn: 't1', status: 'rewound' }] });
    // It is a rewind like any other.
    expect((await it.run(['redo'])).code).toBe(0);
    expect(snapshot(it.root)).not.toEqual(before);
  });
}

test('--atomic leaves what went well, and puts back no more than the step that did not', async () => {
  const it = project();
  const step = (script: string) =>
    ran(it, script, '--turn', 'agent', '--atomic', '--deny', '.env', '--no-watch');
  expect((await step('echo one > src/a.ts; echo made > made')).code).toBe(0);
  const one = snapshot(it.root);
  expect((await step('echo two > src/a.ts; rm made; echo >> .env')).code).toBe(1);
  expect(snapshot(it.root)).toEqual(one);
  expect(await it.json(['list'])).toMatchObject({ turns: [{ turn: 'agent', status: 'closed' }] });
  expect((await it.run(['rewind', 'agent'])).code).toBe(0);
  expect(fs.readFileSync(join(it.root, 'src/a.ts'), 'utf8')).toBe('old');
  expect(fs.existsSync(join(it.root, 'made'))).toBe(false);
});

test('--atomic that cannot put back says so, and how to', async () => {
  const it = project();
  expect((await it.run(['open', '--turn', 'other', '--no-watch'])).code).toBe(0);
  const run = await ran(it, 'echo new > src/a.ts; exit 4', '--atomic', '--no-watch');
  expect(run.code).toBe(4);
  expect(run.stderr).toMatch(/NOT put back: Turn other is still open/);
  expect(run.stderr).toContain('preimage rewind t1 --git');
  expect(fs.readFileSync(join(it.root, 'src/a.ts'), 'utf8')).toBe('new\n');
});

test('--stop-on-deny ends the command once it touches what is denied', async () => {
  const it = project();
  // By itself it would wait for ever.
  const script = 'mkfifo ../wait; echo > .env; read line < ../wait; echo late > README.md';
  const started = Date.now();
  const run = await ran(it, script, '--deny', '.env', '--stop-on-deny');
  expect(run.code).toBe(143);
  expect(run.stderr).toContain('the command was ended early: .env was changed (denied by ".env")');
  expect(run.stderr).toContain('rule broken: .env: denied by ".env"');
  expect(fs.readFileSync(join(it.root, 'README.md'), 'utf8')).toBe('old');
  expect(Date.now() - started).toBeLessThan(10_000);
});

test('a command that does not end by SIGTERM is killed 5 seconds later', async () => {
  const it = project();
  const script = 'trap "" TERM; mkfifo ../wait; echo > .env; while :; do read line < ../wait; done';
  const run = await ran(it, script, '--deny', '.env', '--stop-on-deny');
  expect(run.code).toBe(137);
}, 30_000);

test('where nothing watches, --stop-on-deny says so, and the scan still judges', async () => {
  const it = project();
  const run = await ran(it, 'echo > .env', '--deny', '.env', '--stop-on-deny', '--no-watch');
  expect(run.code).toBe(1);
  expect(run.stderr).toContain('nothing watched');
  expect(run.stderr).toContain('rule broken: .env');
});
