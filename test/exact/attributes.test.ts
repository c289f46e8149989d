import { Buffer } from 'node:buffer';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { expect, onTestFinished, vi } from 'vitest';
import type { Manifest } from '../../src/core/manifest.js';
import { relPath } from '../../src/core/relpath.js';
import { changedAttributes, changeKind } from '../../src/index.js';
import { attributesOf, removeAttribute, setAcl, setAttribute } from '../support/attributes.js';
import { lab } from '../support/cli.js';
import {
  ACLS,
  ATTRIBUTES,
  CAPABILITY,
  LINUX,
  SMALL_DISKS,
  SYSTEM_ATTRIBUTES,
  testWith,
} from '../support/machine.js';
import { scan } from '../support/scan.js';
import { smallDisk } from '../support/small-disk.js';
import { type Entry, snapshot, temporary, tree } from '../support/tree.js';
import { type Bench, bench } from '../support/turns.js';

type State = { readonly tree: object; readonly attributes: readonly string[] };

function stateOf({ root }: Pick<Bench, 'root'>): State {
  return { tree: snapshot(root), attributes: attributesOf(root) };
}

/** One turn, its rewind and its redo: each must stand exactly as it stood. */
async function thereAndBack(
  entries: Record<string, Entry>,
  arrange: (at: (name: string) => string) => void,
  change: (at: (name: string) => string) => void,
): Promise<Bench> {
  const it = bench(entries);
  const at = (name: string): string => path.join(it.root, name);
  arrange(at);
  const before = stateOf(it);
  await it.turn('x', () => change(at));
  const after = stateOf(it);
  expect(after).not.toEqual(before);
  const rewound = await it.rewind('x');
  expect(stateOf(it)).toEqual(before);
  expect(rewound).toMatchObject({ complete: true });
  expect(rewound.outcomes.filter(({ reason }) => reason !== '')).toEqual([]);
  const redone = await it.redo();
  expect(stateOf(it)).toEqual(after);
  expect(redone).toMatchObject({ complete: true });
  return it;
}

testWith(
  [ATTRIBUTES],
  'an attribute that a turn changes, adds or removes is put back',
  async () => {
    const it = await thereAndBack(
      { 'a.txt': 'a', 'b.txt': 'b', 'c.txt': 'c', dir: { 'd.txt': 'd' } },
      (at) => {
        setAttribute(at('a.txt'), 'user.note', 'old');
        setAttribute(at('b.txt'), 'user.note', 'goes');
        setAttribute(at('b.txt'), 'user.stays', 'stays');
        setAttribute(at('dir'), 'user.note', 'old');
      },
      (at) => {
        setAttribute(at('a.txt'), 'user.note', 'new');
        removeAttribute(at('b.txt'), 'user.note');
        setAttribute(at('c.txt'), 'user.note', 'comes');
        setAttribute(at('dir'), 'user.note', 'new');
        setAttribute(at('dir'), 'user.more', '');
      },
    );
    const { files } = it.with((store) => store.show('x'));
    expect(files.map((file) => [file.path, changeKind(file), changedAttributes(file)])).toEqual([
      ['a.txt', 'metadata', ['user.note']],
      ['b.txt', 'metadata', ['user.note']],
      ['c.txt', 'metadata', ['user.note']],
      ['dir', 'metadata', ['user.more', 'user.note']],
    ]);
  },
);

testWith([ATTRIBUTES], 'a turn that changes no attribute names none', async () => {
  const it = bench({ 'a.txt': 'a', dir: {} });
  setAttribute(path.join(it.root, 'a.txt'), 'user.note', 'old');
  await it.turn('x', () => {
    setAttribute(path.join(it.root, 'a.txt'), 'user.note', 'other');
    setAttribute(path.join(it.root, 'a.txt'), 'user.note', 'old');
    setAttribute(path.join(it.root, 'dir'), 'user.note', 'x');
    removeAttribute(path.join(it.root, 'dir'), 'user.note');
  });
  expect(it.with((store) => store.show('x')).files).toEqual([]);
});

testWith([ATTRIBUTES], 'a value and a name of any bytes are put back', async () => {
  const bytes = Buffer.from(Array.from({ length: 256 }, (_, i) => i));
  await thereAndBack(
    { 'a.txt': 'a' },
    (at) => {
      setAttribute(at('a.txt'), 'user.bytes', bytes);
      setAttribute(at('a.txt'), 'user.lines', 'one\n\n# file: b\nuser.x=0sAA==\n\0');
      setAttribute(at('a.txt'), 'user.empty', '');
      setAttribute(at('a.txt'), 'user.a\\075b\\134c d\\012e\\377', 'odd');
    },
    (at) => {
      fs.rmSync(at('a.txt'));
      fs.writeFileSync(at('a.txt'), 'b');
      setAttribute(at('a.txt'), 'user.bytes', '');
    },
  );
});

testWith([ATTRIBUTES], 'attributes come back with what was removed or replaced', async () => {
  await thereAndBack(
    { 'gone.txt': 'a', 'renamed.txt': 'b', 'edited.txt': 'c', dir: { sub: { 'e.txt': 'e' } } },
    (at) => {
      for (const name of [
        'gone.txt',
        'renamed.txt',
        'edited.txt',
        'dir',
        'dir/sub',
        'dir/sub/e.txt',
      ])
        setAttribute(at(name), 'user.note', name);
    },
    (at) => {
      fs.rmSync(at('gone.txt'));
      fs.writeFileSync(at('new'), 'B');
      fs.renameSync(at('new'), at('renamed.txt'));
      fs.appendFileSync(at('edited.txt'), 'more');
      fs.rmSync(at('dir'), { recursive: true });
      fs.mkdirSync(at('dir'));
      fs.symlinkSync('nowhere', at('dir/sub'));
    },
  );
});

testWith([ATTRIBUTES], 'names of one file have the attributes of one file', async () => {
  const it = await thereAndBack(
    { 'a.txt': 'a', 'c.txt': 'c' },
    (at) => {
      fs.linkSync(at('a.txt'), at('b.txt'));
      setAttribute(at('a.txt'), 'user.note', 'old');
      fs.linkSync(at('c.txt'), `${at('.')}/../outside`);
    },
    (at) => {
      setAttribute(at('b.txt'), 'user.note', 'new');
      fs.writeFileSync(at('b.txt'), 'other');
      fs.writeFileSync(at('c.txt'), 'other');
      setAttribute(at('c.txt'), 'user.note', 'new');
    },
  );
  const inode = (name: string): number => fs.statSync(path.join(it.root, name)).ino;
  expect(inode('a.txt')).toBe(inode('b.txt'));
  expect(inode('c.txt')).toBe(inode('../outside'));
});

testWith([ATTRIBUTES], 'names with odd bytes keep their attributes', async () => {
  const odd = [
    'new\nline',
    'back\\slash',
    '\\012',
    'qu"ote\'',
    ' space ',
    'a: b',
    '-n',
    '# file: x',
  ];
  const names = [...odd.map((name) => Buffer.from(name)), Buffer.from([0xff, 0x0a, 0xfe, 0x5c])];
  const all = (at: (name: string) => string): Buffer[] =>
    names.map((name) => Buffer.concat([Buffer.from(`${at('.')}/`), name]));
  await thereAndBack(
    {},
    (at) => {
      for (const file of all(at)) {
        fs.writeFileSync(file, 'x');
        setAttribute(file, 'user.note', file.subarray(-3));
      }
    },
    (at) => {
      all(at).forEach((file, i) => {
        if (i % 2 === 0) fs.rmSync(file);
        else setAttribute(file, 'user.note', 'new');
      });
    },
  );
});

testWith([ATTRIBUTES], 'attributes of what is closed to its owner are put back', async () => {
  await thereAndBack(
    { 'a.txt': 'a', dir: { 'b.txt': 'b' } },
    (at) => {
      setAttribute(at('dir'), 'user.note', 'old');
      setAttribute(at('a.txt'), 'user.note', 'old');
      fs.chmodSync(at('a.txt'), 0o444);
      fs.chmodSync(at('dir'), 0o555);
    },
    (at) => {
      fs.chmodSync(at('a.txt'), 0o644);
      fs.chmodSync(at('dir'), 0o755);
      setAttribute(at('a.txt'), 'user.note', 'new');
      removeAttribute(at('dir'), 'user.note');
      fs.writeFileSync(at('dir/b.txt'), 'B');
    },
  );
});

testWith([ACLS], 'ACLs of files and directories are put back', async () => {
  const it = await thereAndBack(
    { 'a.txt': 'a', 'b.txt': 'b', 'c.txt': 'c', dir: { 'd.txt': 'd' } },
    (at) => {
      setAcl(at('a.txt'), '-m', 'u:12345:rw,g:54321:r,m::r');
      setAcl(at('b.txt'), '-m', 'u:12345:rw');
      setAcl(at('dir'), '-m', 'u:12345:rwx,d:u:12345:rx,d:o::-');
    },
    (at) => {
      setAcl(at('a.txt'), '-b');
      fs.chmodSync(at('b.txt'), 0o600);
      setAcl(at('c.txt'), '-m', 'u:12345:r');
      setAcl(at('dir'), '-b');
      fs.writeFileSync(at('dir/e.txt'), 'e');
    },
  );
  const { files } = it.with((store) => store.show('x'));
  expect(files.map((file) => [file.path, changedAttributes(file)])).toEqual([
    ['a.txt', ['system.posix_acl_access']],
    ['b.txt', ['system.posix_acl_access']],
    ['c.txt', ['system.posix_acl_access']],
    ['dir', ['system.posix_acl_access', 'system.posix_acl_default']],
    ['dir/e.txt', []],
  ]);
});

testWith(
  [ACLS],
  'what is put back into a directory inherits no ACL that it did not have',
  async () => {
    await thereAndBack(
      { dir: { 'a.txt': 'a', 'b.txt': 'b', sub: { 'c.txt': 'c', deep: {} } } },
      (at) => {
        setAcl(at('dir'), '-m', 'd:u:12345:rwx');
        fs.writeFileSync(at('dir/inherits.txt'), 'x');
        fs.mkdirSync(at('dir/inherits'));
      },
      (at) => {
        for (const name of fs.readdirSync(at('dir'))) {
          fs.rmSync(at(`dir/${name}`), { recursive: true });
        }
      },
    );
  },
);

testWith([ATTRIBUTES], 'an attribute that was set after the turn is a conflict', async () => {
  const it = bench({ 'a.txt': 'a', 'b.txt': 'b', dir: { 'c.txt': 'c' } });
  const at = (name: string): string => path.join(it.root, name);
  await it.turn('x', () => {
    fs.writeFileSync(at('a.txt'), 'A');
    setAttribute(at('b.txt'), 'user.note', 'the turn’s');
    setAttribute(at('dir'), 'user.note', 'the turn’s');
  });
  setAttribute(at('a.txt'), 'user.mine', 'mine');
  setAttribute(at('b.txt'), 'user.note', 'mine');
  setAttribute(at('dir'), 'user.mine', 'mine');
  const mine = stateOf(it);
  const { outcomes } = await it.rewind('x');
  expect(outcomes.map(({ path: name, outcome, reason }) => [name, outcome, reason])).toEqual([
    ['a.txt', 'conflict', 'it was changed after the turn'],
    ['b.txt', 'conflict', 'it was changed after the turn'],
    ['dir', 'conflict', 'it was changed after the turn'],
  ]);
  expect(stateOf(it)).toEqual(mine);
  const forced = await it.with((store) => store.rewind({ turn: 'x', force: true }));
  expect(forced.complete).toBe(true);
  expect(attributesOf(it.root).filter((record) => record.includes('user.'))).toEqual([]);
  await it.redo();
  expect(stateOf(it)).toEqual(mine);
});

testWith(
  [ATTRIBUTES],
  'attributes that were there before the first turn are no change',
  async () => {
    const it = bench({ 'a.txt': 'a', 'b.txt': 'b' });
    setAttribute(path.join(it.root, 'a.txt'), 'user.note', 'mine');
    await it.turn('x', () => it.write({ 'b.txt': 'B' }));
    setAttribute(path.join(it.root, 'a.txt'), 'user.note', 'mine, later');
    await it.turn('y', () => it.write({ 'b.txt': 'BB' }));
    const { files } = it.with((store) => store.show('y'));
    expect(files.map((file) => file.path)).toEqual(['b.txt']);
  },
);

testWith([ATTRIBUTES, SYSTEM_ATTRIBUTES], 'other namespaces are left alone', async () => {
  const it = bench({ 'a.txt': 'a', 'b.txt': 'b' });
  const at = (name: string): string => path.join(it.root, name);
  await it.turn('x', () => {
    setAttribute(at('a.txt'), 'trusted.note', 'the system’s');
    it.write({ 'b.txt': 'B' });
  });
  const { files } = it.with((store) => store.show('x'));
  expect(files.map((file) => file.path)).toEqual(['b.txt']);
  const noted = attributesOf(it.root);
  await it.rewind('x');
  expect(attributesOf(it.root)).toEqual(noted);
});

testWith(
  [ATTRIBUTES, SYSTEM_ATTRIBUTES],
  'what a program may do is put back with its owner',
  async () => {
    const capability = Buffer.from(CAPABILITY.slice(2), 'hex');
    const names = ['run.sh', 'kept.sh', 'again.sh', 'linked.sh'];
    const allow = (file: string): void => setAttribute(file, 'security.capability', capability);
    await thereAndBack(
      Object.fromEntries(names.map((name) => [name, `#!/bin/sh\n# ${name}\n`])),
      (at) => {
        for (const name of names) {
          fs.chownSync(at(name), 12345, 12345);
          fs.chmodSync(at(name), 0o4755);
          allow(at(name));
        }
        fs.linkSync(at('linked.sh'), at('../outside'));
      },
      (at) => {
        fs.writeFileSync(at('run.sh'), 'written');
        fs.chownSync(at('kept.sh'), 0, 0);
        // Both take the capabilities away, so a rewind does as well.
        fs.chownSync(at('again.sh'), 0, 0);
        fs.writeFileSync(at('linked.sh'), 'written, with a name outside');
        for (const name of ['again.sh', 'linked.sh']) allow(at(name));
      },
    );
  },
);

testWith(
  [ATTRIBUTES, SMALL_DISKS],
  'an attribute that cannot be set is told, and all else is put back',
  async () => {
    const disk = smallDisk('4m');
    const it = bench({ 'a.txt': 'a', 'b.txt': 'b' }, disk);
    const at = (name: string): string => path.join(it.root, name);
    setAttribute(at('a.txt'), 'user.note', 'old');
    await it.turn('x', () => it.write({ 'a.txt': 'A', 'b.txt': 'B' }));
    // A `setfattr` that has not the right to.
    const bin = temporary();
    const refusal =
      'for path; do :; done; echo "setfattr: $path: Operation not permitted" >&2; exit 1';
    fs.writeFileSync(path.join(bin, 'setfattr'), `#!/bin/sh\n${refusal}\n`, { mode: 0o755 });
    const old = process.env.PATH;
    process.env.PATH = `${bin}:${old}`;
    onTestFinished(() => {
      process.env.PATH = old;
    });
    fs.rmSync(at('a.txt'));
    const { outcomes } = await it.with((store) => store.rewind({ turn: 'x', force: true }));
    expect(outcomes.map(({ path: name, outcome, reason }) => [name, outcome, reason])).toEqual([
      [
        'a.txt',
        'restored',
        'its attributes user.note could not be restored: operation not permitted',
      ],
      ['b.txt', 'restored', ''],
    ]);
    expect(fs.readFileSync(at('a.txt'), 'utf8')).toBe('a');
  },
);

testWith(
  [ATTRIBUTES],
  'the command line tells attributes, and an export is without them',
  async () => {
    const it = lab();
    fs.writeFileSync(path.join(it.root, 'a.txt'), 'a');
    setAttribute(path.join(it.root, 'a.txt'), 'user.note', 'old');
    const turn = await it.turn('setfattr -n user.note -v new a.txt && chmod 600 a.txt');
    expect(turn.stderr).toContain('1 permissions only');
    const { stdout } = await it.run(['show', 't1']);
    expect(stdout).toMatch(/^P a\.txt {2}0644 → 0600, attributes user\.note$/m);
    const { files } = await it.json<{ files: { pre: object; post: object }[] }>(['show', 't1']);
    expect(files).toMatchObject([
      {
        change: 'metadata',
        pre: { attributes: { 'user.note': Buffer.from('old').toString('base64') } },
        post: { attributes: { 'user.note': Buffer.from('new').toString('base64') } },
      },
    ]);
    expect((await it.run(['export', 't1', '--out', '../out'])).code).toBe(0);
    const index: unknown = JSON.parse(
      fs.readFileSync(path.join(it.root, '../out/index.json'), 'utf8'),
    );
    expect(JSON.stringify(index)).not.toContain('attributes');
    expect((await it.run(['doctor'])).stdout).toMatch(/^ok +attributes +and ACLs are recorded$/m);
    expect((await it.run(['verify'])).code).toBe(0);
  },
);

testWith([ATTRIBUTES], 'no scan keeps a stale attribute, however fast it is set anew', async () => {
  const root = temporary();
  const file = path.join(root, 'a.txt');
  fs.writeFileSync(file, 'a');
  let baseline: Manifest | 'none' = 'none';
  for (let round = 0; round < 60; round++) {
    setAttribute(file, 'user.round', String(round));
    setAttribute(root, 'user.round', String(round));
    baseline = scan(root, baseline, { attributes: 'ask' }).manifest;
    const value = `user.round=${Buffer.from(String(round)).toString('base64')}`;
    expect(baseline.attributes(0)).toBe(value);
    expect(baseline.attributes(baseline.find(relPath('a.txt')))).toBe(value);
  }
});

testWith([ATTRIBUTES], 'a scan that finds nothing changed starts no program', async () => {
  const root = tree(temporary(), { 'a.txt': 'a', dir: { 'b.txt': 'b' } });
  setAttribute(path.join(root, 'a.txt'), 'user.note', 'x');
  spawnSync('mkfifo', [path.join(root, 'pipe')]);
  let last = scan(root, 'none', { attributes: 'ask' });
  // Until the clock of the file system has gone on, what was just made is not trusted.
  await vi.waitFor(() => {
    const next = scan(root, last.manifest, { attributes: 'ask' });
    const same = next.manifest === last.manifest && next.hashedFiles === 0;
    last = next;
    expect(same).toBe(true);
  });
  const old = process.env.PATH;
  process.env.PATH = '/nowhere';
  onTestFinished(() => {
    process.env.PATH = old;
  });
  const next = scan(root, last.manifest, { attributes: 'ask' });
  expect(next.manifest).toBe(last.manifest);
});

/** A PATH with what a turn needs, and without the programs for attributes. */
function pathWithout(): string {
  const bin = temporary();
  for (const name of ['sh', 'chmod', 'sync', 'cat', 'rm', 'mkfifo']) {
    const found = spawnSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' });
    fs.symlinkSync(found.stdout.trim(), path.join(bin, name));
  }
  return bin;
}

testWith(
  [LINUX],
  'without the programs all else works, and doctor says what is missing',
  async () => {
    const it = lab();
    const env = { PATH: pathWithout() };
    const run = (...args: string[]) => it.run(args, { env });
    fs.writeFileSync(path.join(it.root, 'a.txt'), 'a');
    const before = snapshot(it.root);
    expect((await run('watch', '--', 'sh', '-c', 'echo b > a.txt; chmod 600 a.txt')).code).toBe(0);
    expect((await run('rewind')).stdout).toMatch(/^rewound t1: 1 restored$/m);
    expect(snapshot(it.root)).toEqual(before);
    const { stdout, code } = await run('doctor');
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^limit +attributes +not recorded: getfattr\/setfattr\/xargs are missing/m,
    );
  },
);

testWith(
  [ATTRIBUTES],
  'a turn that was recorded without the programs is rewound with them',
  async () => {
    const it = lab();
    const file = path.join(it.root, 'a.txt');
    const env = { PATH: pathWithout() };
    fs.writeFileSync(file, 'a');
    setAttribute(it.root, 'user.note', 'mine');
    fs.writeFileSync(path.join(it.root, 'b.txt'), 'b');
    setAttribute(path.join(it.root, 'b.txt'), 'user.note', 'mine');
    const noted = attributesOf(it.root);
    await it.run(['watch', '--', 'sh', '-c', 'echo b > a.txt; chmod 600 b.txt'], { env });
    expect((await it.run(['rewind'])).stdout).toMatch(/^rewound t1: 2 restored$/m);
    expect(fs.readFileSync(file, 'utf8')).toBe('a');
    expect(attributesOf(it.root)).toEqual(noted);
    // What stood before is known from now on.
    await it.turn('setfattr -n user.note -v theirs b.txt');
    await it.run(['rewind']);
    expect(attributesOf(it.root)).toEqual(noted);
  },
);

testWith(
  [ATTRIBUTES],
  'a turn that was recorded with the programs is rewound without them',
  async () => {
    const it = lab();
    const env = { PATH: pathWithout() };
    fs.writeFileSync(path.join(it.root, 'a.txt'), 'a');
    fs.mkdirSync(path.join(it.root, 'dir'));
    for (const name of ['a.txt', 'dir']) setAttribute(path.join(it.root, name), 'user.note', 'old');
    await it.turn('rm a.txt; setfattr -n user.note -v new dir');
    const rewound = await it.run(['rewind'], { env });
    expect(rewound.code).toBe(1);
    expect(rewound.stdout).toMatch(
      /^restored +a\.txt +its attributes user\.note could not be restored: .*missing/m,
    );
    expect(rewound.stdout).toMatch(
      /^skipped +dir +its attributes changed, and they cannot be looked at now$/m,
    );
  },
);
