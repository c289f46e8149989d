import fs from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { type Lab, lab } from '../support/cli.js';
import { command, testWith } from '../support/machine.js';
import { inSoak } from '../support/soak.js';
import { exec, file, snapshot, symlink, temporary, tree } from '../support/tree.js';
import { differences, thereAndBack, turnAndRewind } from './round.js';

const STRESS = command('stress-ng');
const RSYNC = command('rsync');
const SQLITE = command('sqlite3');
const VIM = command('vim');
const ED = command('ed');

/** Work on directories, names, links, modes, times, attributes and bytes (stress-ng(1)). */
const STRESSORS = [
  ...['chmod', 'chown', 'copy-file', 'dentry', 'dir', 'dirdeep', 'dirmany', 'fallocate'],
  ...['filename', 'flock', 'hdd', 'link', 'rename', 'symlink', 'touch', 'utime'],
  'xattr',
];

/** How many work at the same time, and for how long, in seconds. */
const AT_ONCE = inSoak(1, STRESSORS.length);
const WORK_S = inSoak(10, 1);

for (let i = 0; i < STRESSORS.length; i += AT_ONCE) {
  const stressors = STRESSORS.slice(i, i + AT_ONCE);
  testWith(
    [STRESS],
    `what is left of ${stressors.join(', ')} when they are killed at work is gone again`,
    async () => {
      const it = sources();
      // They tidy up after themselves where they can: killed, they cannot. Workers die with it.
      const work = stressors.map((name) => `--${name} 1`).join(' ');
      const stress = `stress-ng ${work} --temp-path . --quiet --hdd-bytes 8m`;
      const script = `timeout -s KILL ${WORK_S} ${stress} || test $? = 137`;
      const { before, rewound } = await turnAndRewind(it, script, {
        watch: ['--no-watch'],
        // One of them goes deeper than a path may be long.
        skip: (relative) => relative.length > 3000,
      });
      expect(rewound).toMatchObject({ code: 0, complete: true });
      expect(differences(before, snapshot(it.root))).toEqual([]);
    },
    120_000,
  );
}

testWith([RSYNC], 'rsync over the tree, with deletions, by rename and in place', async () => {
  for (const how of ['', '--inplace', '--inplace --no-whole-file', '--backup', '--times']) {
    const it = sources();
    const other = tree(join(temporary(), 'other'), {
      src: { 'a.ts': 'export const a = 2;\n', 'c.ts': 'new\n', sub: symlink('../bin') },
      bin: { run: file('#!/bin/sh\necho 2\n', 0o700) },
      big: Buffer.alloc(300_001, 'other '),
      link: 'no link any more\n',
    });
    await thereAndBack(it, `rsync -a --delete ${how} '${other}/' .`);
  }
});

testWith([SQLITE], 'sqlite3: transactions, a write-ahead log, a roll-back, a vacuum', async () => {
  for (const mode of ['delete', 'wal', 'truncate']) {
    const it = sources();
    await thereAndBack(it, `sqlite3 data.db 'create table t (a, b)'`);
    await sql(it, `pragma journal_mode=${mode}; create table t (a, b);`);
    await sql(it, ROWS);
    await thereAndBack(
      it,
      `sqlite3 data.db "pragma journal_mode=${mode}; ${ROWS} update t set b = a + 1 where a % 3 = 0;
         begin; delete from t; rollback; delete from t where a < 100; vacuum;"`,
    );
    expect((await sql(it, 'select count(*), max(b) from t; pragma integrity_check')).trim()).toBe(
      '500|1000\nok',
    );
  }
});

const ROWS =
  'with recursive n(i) as (select 1 union all select i + 1 from n where i < 500) ' +
  'insert into t select i, i * 2 from n;';

testWith([VIM], 'vim: writes by rename and in place, with a backup and an undo file', async () => {
  for (const how of ['yes', 'no', 'auto']) {
    const it = sources();
    const set = `set nocompatible backup undofile backupcopy=${how}`;
    const edit = 'argdo %s/1/2/ge | %s/old/new/ge | update';
    const vim = `vim -es -u NONE -c '${set}' -c '${edit}' -c 'qa!' src/a.ts bin/run link`;
    await thereAndBack(it, `${vim} </dev/null`);
  }
});

testWith([ED], 'ed: edits, writes elsewhere, reads a command’s output', async () => {
  const script = `printf '%s\\n' '1s/1/2/' w '$r !echo more' 'w src/copy.ts' q | ed -s src/a.ts`;
  await thereAndBack(sources(), script);
});

/** A small project with a file of each kind. */
function sources(): Lab {
  const it = lab();
  tree(it.root, {
    src: { 'a.ts': 'export const a = 1;\n', 'b.ts': 'export const b = 1;\n', empty: {} },
    bin: { run: exec('#!/bin/sh\necho 1\n') },
    big: Buffer.alloc(300_000, 'bytes '),
    'target.txt': 'old\n',
    link: symlink('target.txt'),
    '.env': file('TOKEN=1\n', 0o600),
  });
  fs.linkSync(join(it.root, 'target.txt'), join(it.root, 'other-name'));
  return it;
}

async function sql(it: Lab, text: string): Promise<string> {
  return (await it.run(['watch', '--no-watch', '--', 'sqlite3', 'data.db', text])).stdout;
}
