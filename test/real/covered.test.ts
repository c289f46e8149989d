import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { lab } from '../support/cli.js';
import { SED_IN_PLACE } from '../support/machine.js';
import { file, snapshot, tree } from '../support/tree.js';
import { git } from './repository.js';
import { differences, thereAndBack } from './round.js';

/** Directories that other tools take for rubbish. */
const DIRECTORIES = ['dist', 'build', 'target', 'vendor', 'bin', 'pkg', 'env', 'out', '.cache'];

/** Files that other tools leave out. */
const FILES = [
  '.env',
  '.env.local',
  '.env.production',
  'package-lock.json',
  'yarn.lock',
  'Cargo.lock',
  'poetry.lock',
  'data.sqlite',
  'data.sqlite-wal',
  'table.csv',
  'server.log',
  'picture.png',
  'archive.zip',
  '.DS_Store',
  'backup~',
  'swap.swp',
];

function allOf(names: readonly string[], text: string): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, `${text} ${name}\0\n`]));
}

describe('nothing is left out for such a name', () => {
  const everywhere = (): Parameters<typeof tree>[1] => ({
    ...allOf(FILES, 'precious'),
    ...Object.fromEntries(DIRECTORIES.map((name) => [name, allOf(['main.c', '.env'], name)])),
    '.gitignore': '*\n',
  });

  test('rewritten', async () => {
    const at = lab();
    tree(at.root, everywhere());
    const script = 'find . -type f -exec sh -c \'for f; do echo new > "$f"; done\' sh {} +';
    const { before, left } = await thereAndBack(at, script);
    const files = Object.keys(before).filter((name) => before[name]?.startsWith('file'));
    expect(files).toHaveLength(FILES.length + 2 * DIRECTORIES.length + 1);
    expect(files.filter((name) => before[name] === left[name])).toEqual([]);
  });

  test('deleted', async () => {
    const at = lab();
    tree(at.root, everywhere());
    await thereAndBack(at, `rm -rf ${[...DIRECTORIES, ...FILES].join(' ')}`);
  });

  test('made by the turn, and gone after the rewind', async () => {
    const at = lab();
    tree(at.root, { 'kept.txt': 'kept\n' });
    const { left } = await thereAndBack(
      at,
      `mkdir ${DIRECTORIES.join(' ')}; for d in ${DIRECTORIES.join(' ')}; do echo x > $d/f; done
      for f in ${FILES.join(' ')}; do echo x > $f; done`,
    );
    expect(Object.keys(left).length).toBeGreaterThan(DIRECTORIES.length * 2 + FILES.length);
  });
});

test('a line dropped from .gitignore makes no old file look like a new one', async () => {
  const at = lab();
  tree(at.root, {
    '.gitignore': '.env\nsecrets/\n*.key\n',
    '.env': file('TOKEN=1\n', 0o600),
    'secrets/a.key': 'k\n',
    'app.js': 'app\n',
  });
  await git(at, 'init', '--quiet');
  await git(at, 'add', '--all');
  await git(at, 'commit', '--quiet', '-m', 'first');
  await thereAndBack(at, `${SED_IN_PLACE} -e /env/d -e /secrets/d .gitignore; echo 2 > app.js`);
  await thereAndBack(at, 'rm .gitignore; echo new >> secrets/a.key; rm .env');
  expect(readFileSync(path.join(at.root, '.env'), 'utf8')).toBe('TOKEN=1\n');
});

test('untracked files of 3 MB are back, whatever the turn did to them', async () => {
  const turns = {
    cut: 'echo small > cut',
    deleted: 'rm deleted',
    'one-byte': 'printf X | dd of=one-byte bs=1 seek=2000000 conv=notrunc 2>/dev/null',
    grown: 'cat grown grown > twice; mv twice grown',
    moved: 'mkdir aside; mv moved aside/',
  };
  const at = lab();
  tree(at.root, { 'app.js': 'app\n' });
  for (const name of Object.keys(turns)) {
    tree(at.root, { [name]: Buffer.alloc(3 * 1024 * 1024, `three megabytes of ${name} `) });
  }
  await git(at, 'init', '--quiet');
  await git(at, 'add', 'app.js');
  const { before, left } = await thereAndBack(at, Object.values(turns).join('; '));
  expect(Object.keys(turns).filter((name) => before[name] === left[name])).toEqual([]);
});

describe('a file over the limit when the turn opened', () => {
  const limit = ['--max-file', '1MiB'];

  test('shrunk below it is never taken for new: it stays and is named', async () => {
    const at = lab();
    tree(at.root, { 'app.js': 'app\n', 'data.bin': Buffer.alloc(3 * 1024 * 1024, 'x') });
    await at.turn('echo small > data.bin; echo 2 > app.js', ...limit);
    const rewound = await at.run(['rewind']);
    expect(readFileSync(path.join(at.root, 'data.bin'), 'utf8')).toBe('small\n');
    expect(readFileSync(path.join(at.root, 'app.js'), 'utf8')).toBe('app\n');
    expect(rewound.stdout).toMatch(/skipped +data\.bin/);
    expect(rewound.code).toBe(1);
  });

  test('left as it is it is no trouble to anybody', async () => {
    const at = lab();
    tree(at.root, { 'app.js': 'app\n', 'data.bin': Buffer.alloc(3 * 1024 * 1024, 'x') });
    await thereAndBack(at, 'echo 2 > app.js', { watch: limit });
  });

  test('a small one that grows over it is back small', async () => {
    const at = lab();
    tree(at.root, { 'data.bin': 'small\n' });
    await thereAndBack(at, 'head -c 3145728 /dev/zero > data.bin', { watch: limit });
  });
});

test('a new one over the limit is gone after a rewind, and redo has it again', async () => {
  const at = lab();
  tree(at.root, { 'app.js': 'app\n' });
  const limit = ['--max-file', '1MiB'];
  const { left } = await thereAndBack(at, 'yes | head -c 3145728 > new.bin', { watch: limit });
  expect((await at.run(['redo'])).code).toBe(0);
  expect(differences(left, snapshot(at.root))).toEqual([]);
});

test('a turn that changes nothing damages nothing, and the rewind says so', async () => {
  const at = lab();
  tree(at.root, { 'a.txt': 'a\n', 'dir/b.txt': 'b\n' });
  const before = snapshot(at.root);
  const watched = await at.turn('cat a.txt; touch a.txt; cp dir/b.txt c; rm c', '--turn', 'idle');
  expect(watched.stdout).toBe('a\n');
  expect(watched.stderr).toContain('nothing changed');
  writeFileSync(path.join(at.root, 'a.txt'), 'edited by hand after the turn\n');
  writeFileSync(path.join(at.root, 'mine.txt'), 'made by hand after the turn\n');
  const mine = snapshot(at.root);
  const rewound = await at.run(['rewind', 'idle']);
  expect(differences(mine, snapshot(at.root))).toEqual([]);
  expect(rewound.stdout).toContain('nothing to do');
  expect([0, 3]).toContain(rewound.code);
  expect(differences(before, mine)).toHaveLength(2);
});
