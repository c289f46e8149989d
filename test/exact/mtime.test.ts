import fs from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { lab } from '../support/cli.js';
import { snapshot, tree } from '../support/tree.js';

/** A moment long ago, with more digits than a double of seconds holds. */
const OLD = 981_173_106.123456;
const US = 1000n;

test('with --preserve-mtime files get their old times, to the microsecond; without it the present', async () => {
  const { it, old } = aged();
  const before = snapshot(it.root);
  await it.turn(CHANGE, '--turn', 'one', '--no-watch');
  expect((await it.run(['rewind', '--preserve-mtime'])).code).toBe(0);
  expect(snapshot(it.root)).toEqual(before);
  expect(times(it.root)).toEqual(old);
  const start = Date.now();
  expect((await it.run(['redo'])).code).toBe(0);
  for (const name of ['replaced', 'in-place', 'both-a']) {
    expect(fs.statSync(join(it.root, name)).mtimeMs).toBeGreaterThan(start - 1000);
  }
  expect((await it.run(['rewind'])).code).toBe(0);
  expect(snapshot(it.root)).toEqual(before);
  for (const name of ['replaced', 'in-place', 'gone', 'both-a']) {
    expect(fs.statSync(join(it.root, name)).mtimeMs).toBeGreaterThan(start - 1000);
  }
});

test('a redo brings the times back that the turn had left', async () => {
  const { it } = aged();
  await it.turn(CHANGE, '--turn', 'one', '--no-watch');
  const left = times(it.root);
  const after = snapshot(it.root);
  expect((await it.run(['rewind'])).code).toBe(0);
  expect((await it.run(['redo', '--preserve-mtime'])).code).toBe(0);
  expect(snapshot(it.root)).toEqual(after);
  expect(times(it.root)).toEqual(left);
});

test('what was written with the same bytes since the last turn has the time of that, and is the file that it is', async () => {
  const { it } = aged();
  await it.turn('echo new > other', '--turn', 'one', '--no-watch');
  // Nothing that a turn would show: a touch, and a name that becomes a file of its own.
  fs.utimesSync(join(it.root, 'gone'), OLD + 1, OLD + 1);
  fs.rmSync(join(it.root, 'both-b'));
  fs.writeFileSync(join(it.root, 'both-b'), 'e');
  fs.utimesSync(join(it.root, 'both-b'), OLD + 2, OLD + 2);
  const before = times(it.root);
  const files = snapshot(it.root);
  await it.turn('rm gone both-a both-b', '--turn', 'two', '--no-watch');
  expect((await it.run(['rewind', '--preserve-mtime', 'two'])).code).toBe(0);
  expect(snapshot(it.root)).toEqual(files);
  expect(times(it.root)).toEqual(before);
  for (const name of ['both-a', 'both-b']) {
    expect([name, fs.statSync(join(it.root, name)).nlink]).toEqual([name, 1]);
  }
});

/** Rewrites a file by rename and another in place, changes a mode, deletes one, writes one of two names. */
const CHANGE = `
  echo new > staged && mv staged replaced
  echo new > in-place
  chmod 600 mode
  rm gone
  echo new > both-a
`;

function aged() {
  const it = lab();
  tree(it.root, { replaced: 'a', 'in-place': 'b', mode: 'c', gone: 'd', 'both-a': 'e' });
  fs.linkSync(join(it.root, 'both-a'), join(it.root, 'both-b'));
  for (const name of fs.readdirSync(it.root)) fs.utimesSync(join(it.root, name), OLD, OLD);
  return { it, old: times(it.root) };
}

/** Each file's modification time in microseconds. */
function times(root: string): Record<string, bigint> {
  const at = (name: string): bigint =>
    fs.lstatSync(join(root, name), { bigint: true }).mtimeNs / US;
  return Object.fromEntries(fs.readdirSync(root).map((name) => [name, at(name)]));
}
