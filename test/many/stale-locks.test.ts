import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ownIdentity } from '../../src/files/process-identity.js';
import { openStore, openTurn } from '../../src/index.js';
import { readLog } from '../../src/store/log.js';
import { CLI, lab, runProcess } from '../support/cli.js';
import { inSoak } from '../support/soak.js';
import { temporary, tree } from '../support/tree.js';

const own = ownIdentity();
const dead = spawnSync(process.execPath, ['-e', '']).pid;

const STALE: [string, string][] = [
  ['a process that is gone', JSON.stringify({ ...own, pid: dead, start: '1' })],
  ['a pid that another process has now', JSON.stringify({ ...own, start: '1' })],
  ['another run of the machine', JSON.stringify({ ...own, boot: 'before the power cut' })],
  ['nobody, for a power cut left it empty', ''],
  ['nobody, for a power cut left it torn', JSON.stringify(own).slice(0, 20)],
];

test.each(STALE)('a lock of %s holds nobody up', async (_, text) => {
  const base = temporary();
  const which = { root: tree(join(base, 'ws'), { 'a.txt': 'old' }), store: join(base, 'store') };
  await (await openTurn(which)).close();
  const locks = join(which.store, 'locks');
  const hourAgo = Date.now() / 1000 - 3600;
  for (const name of ['log', 'log.breaking', `log.${process.pid}`]) {
    fs.writeFileSync(join(locks, name), text);
    fs.utimesSync(join(locks, name), hourAgo, hourAgo);
  }
  const turn = await openTurn(which);
  turn.write('a.txt', 'new');
  await turn.close();
  const store = openStore(which);
  expect((await store.rewind()).complete).toBe(true);
  store.close();
  expect(fs.readdirSync(locks)).toEqual([]);
});

test('many that find one dead lock at once break it once, and each line of the log stays whole', async () => {
  const it = lab();
  tree(it.root, { 'a.txt': 'old' });
  await it.turn('true', '--no-watch');
  const { store } = await it.json<{ store: string }>(['status']);
  const text = JSON.stringify({ ...own, pid: dead, start: '1' });
  const rounds = inSoak(10, 2);
  const words = ['watch', '--no-watch', '--quiet', '--', 'true'];
  for (let round = 0; round < rounds; round++) {
    fs.writeFileSync(join(store, 'locks', 'log'), text);
    const runs = Array.from({ length: 4 }, () =>
      runProcess(process.execPath, [CLI, ...words], { cwd: it.root, env: it.env }),
    );
    for (const { code, stderr } of await Promise.all(runs)) expect([code, stderr]).toEqual([0, '']);
  }
  const { records, torn } = readLog(join(store, 'log'));
  expect([records.length, torn]).toEqual([2 * (1 + 4 * rounds), false]);
  expect(fs.readdirSync(join(store, 'locks'))).toEqual([]);
});
