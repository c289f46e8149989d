import fs from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { lab } from '../support/cli.js';
import { tree } from '../support/tree.js';

const SCRIPT = `
  sed '3d;6s/5/five/' src/a.txt > ../a && cat ../a > src/a.txt
  echo y >> src/deep/er/b.ts; echo T=2 > .env; mkdir -p new/dir; echo 1 > new/dir/f; rm gone.txt
`;

function project() {
  const it = lab();
  tree(it.root, {
    src: {
      'a.txt': Array.from({ length: 9 }, (_, i) => `${i}\n`).join(''),
      deep: { er: { 'b.ts': 'x\n' } },
    },
    '.env': 'T=1\n',
    'gone.txt': '1\n2\n',
  });
  return it;
}

test('show has the lines added and removed, the sizes, and a mark on what looks like a secret', async () => {
  const it = project();
  await it.turn(SCRIPT, '--no-watch');
  const { stdout } = await it.run(['show', 't1']);
  expect(stdout.split('\n').slice(2)).toEqual([
    'M .env  +1 -1  4 B  looks like a secret',
    'D gone.txt  -2  4 B',
    'A new/',
    'A new/dir/',
    'A new/dir/f  +1  2 B',
    'M src/a.txt  +1 -2  18 B → 19 B',
    'M src/deep/er/b.ts  +1  2 B → 4 B',
    '3 created, 3 modified, 1 deleted',
    '',
  ]);
});

test('as a tree each path stands below its directory', async () => {
  const it = project();
  await it.turn(SCRIPT, '--no-watch');
  const { stdout } = await it.run(['show', 't1', '--tree']);
  expect(stdout.split('\n').slice(2)).toEqual([
    'M .env  +1 -1  4 B  looks like a secret',
    'D gone.txt  -2  4 B',
    'A new/',
    'A   dir/',
    'A     f  +1  2 B',
    '  src/',
    'M   a.txt  +1 -2  18 B → 19 B',
    '    deep/',
    '      er/',
    'M       b.ts  +1  2 B → 4 B',
    '3 created, 3 modified, 1 deleted',
    '',
  ]);
});

test('--stat has numbers alone, in columns, and their sum', async () => {
  const it = project();
  await it.turn(`${SCRIPT} seq 1000 > many; printf 'a\\0b' > binary`, '--no-watch');
  expect((await it.run(['show', 't1', '--stat'])).stdout).toBe(
    [
      '   +1    -1  .env',
      '   +-    --  binary',
      '   +0    -2  gone.txt',
      '+1000    -0  many',
      '   +0    -0  new',
      '   +0    -0  new/dir',
      '   +1    -0  new/dir/f',
      '   +1    -2  src/a.txt',
      '   +1    -0  src/deep/er/b.ts',
      '+1004 -5 lines in 9 paths, 1 not counted',
      '',
    ].join('\n'),
  );
});

test('what came and went, and what was written and put back, is told by what the watcher saw', async () => {
  const it = project();
  const run = await it.turn(
    'cat .env > ../env; echo x > temp.txt; echo T=3 > .env; sleep 0.3; rm temp.txt; cat ../env > .env',
  );
  expect(run.stderr).toContain('nothing changed');
  const { stdout } = await it.run(['show', 't1']);
  expect(stdout).toContain('came out as before:\n');
  expect(stdout).toContain('\n  temp.txt: created, deleted\n');
  expect(stdout).toContain('\n  .env: written, the same again\n');
  expect(await it.json(['show', 't1', '--timeline'])).toMatchObject({
    timeline: { passing: expect.arrayContaining([{ path: 'temp.txt', how: 'came-and-went' }]) },
  });
});

test('a turn of 5,000 changed files is shown at once: what there was no time to count is said', async () => {
  const it = lab();
  for (let i = 0; i < 5000; i++) {
    fs.mkdirSync(join(it.root, `${i % 50}`), { recursive: true });
    fs.writeFileSync(join(it.root, `${i % 50}/${i}.txt`), `old ${i}\n`.repeat(50));
  }
  await it.turn('for d in *; do for f in $d/*; do echo new >> $f; done; done', '--no-watch');
  const started = performance.now();
  const { stdout } = await it.run(['show', 't1']);
  expect(performance.now() - started).toBeLessThan(5000);
  expect(stdout.match(/^M /gm)).toHaveLength(5000);
  const counted = stdout.match(/^M .* \+1 /gm)?.length ?? 0;
  const late = /the lines of (\d+) files were not counted/.exec(stdout)?.[1] ?? '0';
  expect(counted + Number(late)).toBe(5000);
}, 60_000);
