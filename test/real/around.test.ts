import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { lab } from '../support/cli.js';
import { BIND_MOUNTS, testWith } from '../support/machine.js';
import { snapshot, temporary, tree } from '../support/tree.js';
import { thereAndBack } from './round.js';

test('a shell loop over 124 files is put back, each of them', async () => {
  const it = lab();
  tree(
    it.root,
    Object.fromEntries(Array.from({ length: 124 }, (_, i) => [`${i}.txt`, `old ${i}`])),
  );
  const { rewound } = await thereAndBack(it, 'for f in *.txt; do echo new >> "$f"; done');
  expect(rewound.outcomes).toHaveLength(124);
});

testWith(
  [BIND_MOUNTS],
  'what is written through a mount elsewhere is seen like all else',
  async () => {
    const it = lab();
    tree(it.root, { 'a.txt': 'old', sub: { 'b.txt': 'old' } });
    const elsewhere = temporary('preimage-bind');
    const mounted = spawnSync('mount', ['--bind', it.root, elsewhere]);
    expect(mounted.status).toBe(0);
    onTestFinished(() => {
      spawnSync('umount', ['-l', elsewhere]);
    });
    await thereAndBack(it, `cd '${elsewhere}'; echo new > a.txt; rm -r sub; echo made > made.txt`);
  },
);

test('a hook’s step that nobody closed is closed a day later by whatever comes next', async () => {
  const it = lab();
  tree(it.root, { 'a.txt': 'old' });
  const before = snapshot(it.root);
  expect((await it.run(['open', '--turn', 'left', '--no-watch'])).code).toBe(0);
  fs.writeFileSync(join(it.root, 'a.txt'), 'new');
  expect(await it.json(['status'])).toMatchObject({ openTurns: ['left'] });
  expect((await it.run(['rewind', 'left'])).code).toBe(5);
  const later = { env: { ...it.env, NODE_OPTIONS: `--import ${TOMORROW}` } };
  const { stdout } = await it.run(['status', '--json'], later);
  expect(JSON.parse(stdout)).toMatchObject({ openTurns: [], recovered: [{ turn: 'left' }] });
  expect((await it.run(['rewind', 'left'])).code).toBe(0);
  expect(snapshot(it.root)).toEqual(before);
});

/** Has the clock a day ahead. */
const TOMORROW = `data:text/javascript,${encodeURIComponent(
  'const now = Date.now; Date.now = () => now() + 25 * 60 * 60 * 1000;',
)}`;
