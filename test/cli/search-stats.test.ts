import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { type Lab, lab } from '../support/cli.js';
import { tree } from '../support/tree.js';
import { expectProblem } from './problems.js';
import { rechained } from './rechain.js';

type Found = { turns: { turn: string; matches: { in: string }[] }[] };

test('search finds turns by label, command and changed path, newest first, and says what matched', async () => {
  const it = lab();
  await it.turn('echo 1 > style.css', '--turn', 'one', '--no-watch');
  await it.turn('echo 1 > a.txt', '--turn', 'two', '--label', 'Restyle the page', '--no-watch');
  await it.turn('echo 2 > a.txt # no STYLE', '--turn', 'three', '--no-watch');
  await it.turn('echo 3 > a.txt', '--turn', 'four', '--no-watch');
  const { stdout } = await it.run(['search', 'Style']);
  expect(stdout.split('\n').map((line) => line.replace(/ {2}\d{4}-.*/, ''))).toEqual([
    'three',
    '  command sh -c echo 2 > a.txt # no STYLE',
    'two  ',
    '  label Restyle the page',
    'one  ',
    '  command sh -c echo 1 > style.css',
    '  A style.css  2 B',
    '',
  ]);
  const found = await it.json<Found>(['search', 'style']);
  expect(found.turns.map(({ turn, matches }) => [turn, matches.map((each) => each.in)])).toEqual([
    ['three', ['command']],
    ['two', ['label']],
    ['one', ['command', 'path']],
  ]);
});

test('search takes the text as it is, and one that is nowhere ends with 3', async () => {
  const it = lab();
  await it.turn('echo 1 > "a*[b].txt"; echo 1 > été', '--no-watch');
  expect((await it.json<Found>(['search', '*[b]'])).turns).toHaveLength(1);
  expect((await it.json<Found>(['search', 'ÉTÉ'])).turns).toHaveLength(1);
  expect(await it.json(['search', 'nowhere'])).toEqual({ turns: [] });
  const none = await it.run(['search', 'no\u001b[31mwhere']);
  expect(none).toMatchObject({ code: 3, stdout: '' });
  expect(none.stderr).not.toContain('\u001b');
  await expectProblem(it, ['search', ''], { code: 2, says: [/no text/] });
});

test('stats sums up turns, steps, files, bytes, lines and rewinds', async () => {
  const it = lab();
  tree(it.root, { 'a.txt': '1\n2\n3\n', 'b.bin': Buffer.from('\0'), '.git': { HEAD: 'x' } });
  await it.turn('printf "1\\n3\\n4\\n5\\n" > a.txt; printf "\\000\\001" > b.bin', '--no-watch');
  await it.turn('rm a.txt; echo new > c.txt; echo y > .git/HEAD', '--turn', 'two', '--no-watch');
  await it.turn('echo more >> c.txt', '--turn', 'two', '--no-watch');
  await it.run(['rewind', 'two']);
  await it.run(['redo']);
  await it.run(['rewind', 'two']);
  expect(await it.json(['stats'])).toEqual({
    since: null,
    turns: 2,
    steps: 3,
    files: 3,
    gitFiles: 1,
    counts: { created: 1, modified: 2, deleted: 1, type: 0, metadata: 0, unknown: 0 },
    bytes: { before: 6 + 1 + 8, after: 8 + 2 + 9 },
    lines: { added: 2 + 2, removed: 1 + 4, uncounted: 1 },
    rewinds: 2,
    redos: 1,
    rewound: 1,
    dropped: 0,
  });
  const { stdout } = await it.run(['stats', '--since', '1h']);
  expect(stdout).toMatch(/^turns {4}2, 1 of them rewound$/m);
  expect(stdout).toMatch(/^lines {4}4 added, 5 removed; of 1 not counted/m);
});

test('stats --since leaves out what was done before, and a bad time is wrong usage', async () => {
  const it = lab();
  await it.turn('echo 1 > a.txt', '--no-watch');
  await age(it);
  await it.turn('echo 2 > b.txt', '--no-watch');
  expect(await it.json(['stats', '--since', '1d'])).toMatchObject({ turns: 1, files: 1 });
  expect(await it.json(['stats', '--since', '3w'])).toMatchObject({ turns: 2, files: 2 });
  await expectProblem(it, ['stats', '--since', 'soon'], { code: 2, says: [/30d/] });
});

/** Makes all that was recorded a week older; the chain of hashes goes on from there. */
async function age(it: Lab): Promise<void> {
  const { store } = await it.json<{ store: string }>(['status']);
  const log = path.join(store, 'log');
  const week = 7 * 86_400_000;
  const older = fs
    .readFileSync(log, 'utf8')
    .replace(
      /"at":"([^"]*)"/g,
      (_, at) => `"at":"${new Date(Date.parse(at) - week).toISOString()}"`,
    );
  fs.writeFileSync(log, rechained(older));
}
