import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { type Lab, lab } from '../support/cli.js';
import { command, installedOnce, testWith } from '../support/machine.js';
import { dir, exec, file, symlink, temporary, tree } from '../support/tree.js';
import { thereAndBack } from './round.js';

const TAR = command('tar');

describe('tar x over a tree that stands', () => {
  const unpack = {
    'over files of the same names': 'tar -xf "$ARCHIVE"',
    'keeping its permissions': 'tar -xpf "$ARCHIVE"',
    'unlinking first': 'tar -x --recursive-unlink -f "$ARCHIVE" || tar -x -U -f "$ARCHIVE"',
    'into a directory that a program makes': 'mkdir -p new/place; tar -xf "$ARCHIVE" -C new/place',
  };
  for (const [words, script] of Object.entries(unpack)) {
    testWith([TAR], words, async () => {
      const at = standing();
      const archive = archiveOf({
        'README.md': 'from the archive\n',
        'src/app.js': exec('from the archive\n'),
        'src/new/file.js': 'new\n',
        'to-link': symlink('README.md'),
        'was-link': 'a file now\n',
        private: dir(0o700, { key: file('k2\n', 0o400) }),
      });
      await thereAndBack(at, `ARCHIVE='${archive}'; ${script}`);
    });
  }

  testWith(
    [TAR],
    'a directory where a file stood, and a file where a directory stood',
    async () => {
      const at = standing();
      const archive = archiveOf({ 'README.md': { inside: 'x\n' }, src: 'a file\n' });
      const { left } = await thereAndBack(at, `rm -rf README.md src; tar -xf '${archive}'`);
      expect(left['README.md']).toMatch(/^directory /);
      expect(left.src).toMatch(/^file /);
    },
  );
});

describe('prettier --write', () => {
  const installed = installedOnce('prettier@3.5.3');

  test('over a small tree of several languages', async () => {
    const at = lab();
    tree(at.root, {
      'a.js': 'const  a = {b:1,c : "two"}\nfunction f(x){return x*2}\n',
      'src/b.ts': 'export  const x:number=1;export type T={a:string,b?:number}\n',
      'style.css': 'a{color:red;background:blue}\n',
      'data.json': '{"a":1,\n"b":[1,2,3]}\n',
      'README.md': '* one\n* two\n\n\nText   here\n',
      'crlf.js': 'let y = 1 ;\r\nlet z = 2 ;\r\n',
      'fine.js': 'const fine = 1;\n',
      'tool.mjs': exec('#!/usr/bin/env node\nconsole.log( 1 )\n'),
      'broken.js': 'const = ;\n',
    });
    const prettier = installed.at('node_modules/prettier/bin/prettier.cjs');
    expect(existsSync(prettier)).toBe(true);
    // It ends with 2: one file cannot be parsed. The others are written all the same.
    const script = `'${process.execPath}' '${prettier}' --write . || test $? = 2`;
    const { before, left } = await thereAndBack(at, script);
    const changed = Object.keys(before).filter((name) => before[name] !== left[name]);
    const written = ['a.js', 'crlf.js', 'data.json', 'src/b.ts', 'style.css', 'tool.mjs'];
    expect(changed).toEqual(expect.arrayContaining(written));
    expect(left['fine.js']).toBe(before['fine.js']);
  });
});

function standing(): Lab {
  const at = lab();
  tree(at.root, {
    'README.md': 'mine\n',
    'src/app.js': 'mine\n',
    'src/other.js': 'mine as well\n',
    'to-link': 'a file\n',
    'was-link': symlink('src/other.js'),
    private: dir(0o755, { key: file('k1\n', 0o600) }),
    'new/place': dir(0o711, { old: 'old\n' }),
  });
  return at;
}

function archiveOf(entries: Parameters<typeof tree>[1]): string {
  const base = temporary();
  const contents = tree(path.join(base, 'contents'), entries);
  const archive = path.join(base, 'archive.tar');
  const made = spawnSync('tar', ['-cf', archive, '-C', contents, ...Object.keys(entries)]);
  expect(String(made.stderr)).toBe('');
  return archive;
}
