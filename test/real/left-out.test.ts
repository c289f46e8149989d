import { existsSync, mkdirSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { type Lab, lab } from '../support/cli.js';
import { snapshot, tree } from '../support/tree.js';
import { differences, thereAndBack, turnAndRewind } from './round.js';

const SIGNATURE = 'Signature: 8a477f597d28d172789f06886806bc55\n# by a test\n';

/** The directories that are left out by rule, and a word of the reason. */
const LEFT_OUT: Readonly<Record<string, string>> = {
  node_modules: 'node_modules',
  'packages/one/node_modules': 'node_modules',
  'src/__pycache__': '__pycache__',
  'my-venv': 'pyvenv.cfg',
  'tool-cache': 'CACHEDIR.TAG',
};

function workspace(): Lab {
  const at = lab();
  tree(at.root, {
    'kept.txt': 'kept\n',
    'src/app.py': 'print(1)\n',
    'packages/one/index.js': '1;\n',
    node_modules: { a: { 'index.js': 'a\n' } },
    'packages/one/node_modules': { b: { 'index.js': 'b\n' } },
    'src/__pycache__': { 'app.pyc': 'pyc\n', deep: { 'er.pyc': 'pyc\n' } },
    'my-venv': { 'pyvenv.cfg': 'home = /usr\n', lib: { 'x.py': 'x\n' } },
    'tool-cache': { 'CACHEDIR.TAG': SIGNATURE, objects: { one: '1\n' } },
  });
  return at;
}

type Named = { path: string; reason: string }[];

test('status names every directory that is left out, and why', async () => {
  const at = workspace();
  await at.turn('true');
  const { leftOut } = await at.json<{ leftOut: Named }>(['status']);
  expect(leftOut.map(({ path: name }) => name).sort()).toEqual(Object.keys(LEFT_OUT).sort());
  for (const { path: name, reason } of leftOut) expect(reason).toContain(LEFT_OUT[name]);
  const words = (await at.run(['status'])).stdout;
  for (const name of Object.keys(LEFT_OUT)) expect(words).toContain(name);
});

describe('a turn that changes what is left out', () => {
  const names = Object.keys(LEFT_OUT).join(' ');
  const turns = {
    'adds a file to each': `for d in ${names}; do echo x > $d/new; done`,
    'removes each': `rm -rf ${names}`,
  };
  test.each(Object.entries(turns))('%s: reported as skipped, all else is back', async (_, turn) => {
    const at = workspace();
    const round = await turnAndRewind(at, `${turn}; echo changed > kept.txt; rm src/app.py`);
    const { left, before, rewound } = round;
    const covered = (name: string): boolean => !isLeftOut(name);
    expect(differences(pick(before, covered), pick(snapshot(at.root), covered))).toEqual([]);
    expect(differences(pick(left, isLeftOut), pick(snapshot(at.root), isLeftOut))).toEqual([]);
    const skipped = rewound.outcomes.filter(({ outcome }) => outcome === 'skipped');
    for (const name of Object.keys(LEFT_OUT)) {
      expect(skipped.some((entry) => entry.path.startsWith(name))).toBe(true);
    }
    expect(skipped.every(({ reason }) => reason !== undefined && reason !== '')).toBe(true);
    expect(rewound).toMatchObject({ code: 1, complete: false });
    const { partial } = await at.json<{ partial: boolean }>(['show', 't1']);
    expect(partial).toBe(true);
  });
});

test('what changes deep inside is not seen, and the turn names each directory as not looked into', async () => {
  const at = workspace();
  await at.turn('echo x > node_modules/a/index.js; echo x > my-venv/lib/x.py');
  const { leftOut, files } = await at.json<{ leftOut: Named; files: unknown[] }>(['show', 't1']);
  expect(files).toEqual([]);
  expect(leftOut.map(({ path: name }) => name).sort()).toEqual(Object.keys(LEFT_OUT).sort());
  const words = (await at.run(['show', 't1'])).stdout;
  for (const name of Object.keys(LEFT_OUT)) expect(words).toContain(`not looked into: ${name}/`);
});

test('a turn that leaves them alone is undone without a word about them', async () => {
  const { rewound } = await thereAndBack(workspace(), 'rm -r src/app.py packages/one/index.js');
  expect(rewound.outcomes.map(({ path: name }) => name)).toEqual([
    'packages/one/index.js',
    'src/app.py',
  ]);
});

test('a directory that is left out and new is never deleted by a rewind', async () => {
  const at = lab();
  tree(at.root, { 'kept.txt': 'kept\n' });
  const script =
    'mkdir -p node_modules/a; echo x > node_modules/a/x; echo y > kept.txt; echo z > z';
  const { rewound } = await turnAndRewind(at, script);
  expect(existsSync(path.join(at.root, 'node_modules/a/x'))).toBe(true);
  expect(existsSync(path.join(at.root, 'z'))).toBe(false);
  expect(rewound.outcomes).toContainEqual(
    expect.objectContaining({ path: 'node_modules', outcome: 'skipped' }),
  );
  expect(rewound.code).toBe(1);
});

test('a directory that becomes a virtual environment in the turn is put back all the same', async () => {
  const at = lab();
  tree(at.root, { env: { 'settings.py': 'mine\n', sub: { 'more.py': 'mine too\n' } } });
  const script = `echo home > env/pyvenv.cfg; rm -r env/sub; echo x > env/settings.py
    printf '%s' '${SIGNATURE}' > env/CACHEDIR.TAG`;
  await thereAndBack(at, script);
});

test('a CACHEDIR.TAG without its signature, and a file named node_modules, leave nothing out', async () => {
  const at = lab();
  tree(at.root, { cache: { 'CACHEDIR.TAG': 'no signature\n', file: '1\n' }, node_modules: 'x\n' });
  await thereAndBack(at, 'echo 2 > cache/file; echo y > node_modules');
});

test('--include captures any of them', async () => {
  const at = workspace();
  const globs = ['node_modules', 'packages/**', '**/__pycache__', 'my-venv', 'tool-cache'];
  const watch = globs.flatMap((glob) => ['--include', glob]);
  await thereAndBack(at, `rm -rf ${Object.keys(LEFT_OUT).join(' ')}`, { watch });
});

test('--exclude leaves out by the same rules', async () => {
  const at = workspace();
  mkdirSync(path.join(at.root, 'generated'));
  const watch = ['--exclude', 'generated', '--exclude', '**/*.log'];
  const script = 'echo x > generated/x; echo x > src/a.log; echo x > src/app.py';
  const { rewound } = await turnAndRewind(at, script, { watch });
  expect(rewound.outcomes).toMatchObject([
    { path: 'generated', outcome: 'skipped' },
    { path: 'src/a.log', outcome: 'skipped' },
    { path: 'src/app.py', outcome: 'restored' },
  ]);
  expect(existsSync(path.join(at.root, 'generated/x'))).toBe(true);
  expect(existsSync(path.join(at.root, 'src/a.log'))).toBe(true);
});

function isLeftOut(name: string): boolean {
  return Object.keys(LEFT_OUT).some((top) => name === top || name.startsWith(`${top}/`));
}

function pick<T>(from: Record<string, T>, wanted: (name: string) => boolean): Record<string, T> {
  return Object.fromEntries(Object.entries(from).filter(([name]) => wanted(name)));
}
