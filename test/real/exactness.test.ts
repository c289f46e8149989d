import { linkSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { lab } from '../support/cli.js';
import { SED_IN_PLACE } from '../support/machine.js';
import { dir, exec, file, snapshot, symlink, tree } from '../support/tree.js';
import { git } from './repository.js';
import { differences, thereAndBack } from './round.js';

describe('line ends', () => {
  test('CRLF stays CRLF although git attributes would have it otherwise', async () => {
    const at = lab();
    tree(at.root, {
      '.gitattributes': '* text=auto eol=lf\n*.bat text eol=crlf\n',
      'windows.txt': 'one\r\ntwo\r\n',
      'mixed.txt': 'one\r\ntwo\nthree\r',
      'run.bat': 'echo\r\n',
      'no-end.txt': 'no line end',
    });
    await git(at, 'init', '--quiet');
    await git(at, 'config', 'core.autocrlf', 'input');
    await git(at, 'add', '--all');
    await thereAndBack(at, `${SED_IN_PLACE} "s/$(printf '\\r')//" *.txt *.bat`);
    await thereAndBack(at, 'git -c core.safecrlf=false commit -qm x; rm *.txt; git checkout -q .', {
      rewind: ['--git'],
    });
    expect(readFileSync(path.join(at.root, 'mixed.txt'), 'latin1')).toBe('one\r\ntwo\nthree\r');
  });
});

describe('permissions', () => {
  const modes = { 'p.key': 0o600, 'r.txt': 0o444, 'w.txt': 0o666, 'x.sh': 0o755, 'o.sh': 0o711 };
  const withModes = (): ReturnType<typeof lab> => {
    const at = lab();
    for (const [name, mode] of Object.entries(modes)) {
      tree(at.root, { [name]: file(`${name}\n`, mode) });
    }
    tree(at.root, {
      closed: dir(0o700, { inner: file('i\n', 0o640) }),
      'sticky and shared': dir(0o1777),
      setgid: dir(0o2755),
      suid: file('s\n', 0o4755),
    });
    return at;
  };
  const turns = {
    'changed alone': 'chmod 644 p.key r.txt; chmod -x x.sh o.sh; chmod 755 closed; chmod 400 w.txt',
    'lost to a rewrite by rename':
      'umask 022; for f in *.*; do cat $f > tmp; rm -f $f; mv tmp $f; echo x >> $f; done',
    'of what is deleted': 'rm -rf closed *.* suid setgid "sticky and shared"',
    'special bits dropped': 'chmod 755 suid; chmod g-s setgid; chmod 755 "sticky and shared"',
    'with a strict umask': 'umask 077; rm -f x.sh; rm -rf closed; mkdir closed; echo x > x.sh',
  };
  test.each(Object.entries(turns))('%s', async (_, script) => {
    await thereAndBack(withModes(), script);
  });
});

describe('a hard-linked pair', () => {
  const turn = 'cp one t; rm two; mv t one; cp one two; echo changed >> one; echo changed >> two';
  const inode = ({ root }: ReturnType<typeof lab>, name: string): number =>
    statSync(path.join(root, name)).ino;
  const pair = async (): Promise<ReturnType<typeof lab>> => {
    const at = lab();
    tree(at.root, { one: file('shared\n', 0o640) });
    linkSync(path.join(at.root, 'one'), path.join(at.root, 'two'));
    await at.turn(turn);
    expect(inode(at, 'one')).not.toBe(inode(at, 'two'));
    return at;
  };

  test('rewound a name at a time becomes one file again', async () => {
    const at = await pair();
    for (const name of ['one', 'two']) {
      expect((await at.run(['rewind', 't1', name])).code).toBe(0);
    }
    expect(readFileSync(path.join(at.root, 'two'), 'latin1')).toBe('shared\n');
    expect(inode(at, 'one')).toBe(inode(at, 'two'));
  });

  test('written in place, rewound and redone a name at a time, is one file every time', async () => {
    const at = lab();
    tree(at.root, { one: 'shared\n' });
    linkSync(path.join(at.root, 'one'), path.join(at.root, 'two'));
    await at.turn('echo changed > one');
    const after = snapshot(at.root);
    for (const names of [['one'], ['two'], []]) await at.run(['rewind', 't1', ...names]);
    expect(readFileSync(path.join(at.root, 'two'), 'latin1')).toBe('shared\n');
    for (let tries = 0; tries < 3; tries++) await at.run(['redo']);
    expect(snapshot(at.root)).toEqual(after);
    expect(inode(at, 'one')).toBe(inode(at, 'two'));
  });

  test('is not joined with a copy that the user made since', async () => {
    const at = await pair();
    expect((await at.run(['rewind', 't1', 'one'])).code).toBe(0);
    await at.turn('echo x > one');
    tree(at.root, { one: file('shared\n', 0o640) });
    await at.turn('echo x > other');
    expect((await at.run(['rewind', 't1', 'two', '--force'])).code).toBe(0);
    expect(readFileSync(path.join(at.root, 'two'), 'latin1')).toBe('shared\n');
    expect(inode(at, 'one')).not.toBe(inode(at, 'two'));
  });

  const turns = {
    'written in place': 'echo changed > one',
    'one name removed': 'rm two',
    'both names removed': 'rm one dir/two-again two',
    'broken by a rename': 'cp one tmp; echo x >> tmp; mv tmp one',
    'and a new name made': 'ln one dir/new; echo x >> dir/new',
  };
  test.each(Object.entries(turns))('%s: every name has its bytes again', async (_, script) => {
    const at = lab();
    tree(at.root, { one: file('shared\n', 0o640), dir: {} });
    linkSync(path.join(at.root, 'one'), path.join(at.root, 'two'));
    linkSync(path.join(at.root, 'one'), path.join(at.root, 'dir/two-again'));
    await thereAndBack(at, script);
  });
});

describe('types that change', () => {
  const turns = {
    'file to directory': 'rm file; mkdir -p file/a/b; echo x > file/a/b/c',
    'directory to file': 'rm -r dir; echo x > dir',
    'file to link': 'rm file; ln -s dir/inner file',
    'link to file': 'rm link; echo x > link',
    'link to directory': 'rm link; mkdir link; echo x > link/x',
    'link to another target': 'ln -sfn nowhere link',
    'directory to a link out of the tree': 'mv dir ../outside; ln -s ../outside dir',
    'all names turned round': 'mv file t; mv dir file; mv link dir; mv t link',
  };
  test.each(Object.entries(turns))('%s', async (_, script) => {
    const at = lab();
    const outside = tree(path.join(path.dirname(at.root), 'elsewhere'), { o: 'outside\n' });
    tree(at.root, {
      file: exec('file\n'),
      dir: { inner: 'inner\n', deeper: { leaf: file('leaf\n', 0o600), none: dir(0o700) } },
      link: symlink('file'),
      'link out': symlink('../elsewhere'),
      'absolute link': symlink(outside),
    });
    const there = snapshot(outside);
    await thereAndBack(at, `${script}; echo written >> "link out/o"; git --version > /dev/null`);
    const { o: _written, ...rest } = snapshot(outside);
    expect(Object.keys(rest)).toEqual(['.']);
    expect(differences(there, snapshot(outside))).toHaveLength(1);
    expect(readFileSync(path.join(outside, 'o'), 'utf8')).toBe('outside\nwritten\n');
  });
});
