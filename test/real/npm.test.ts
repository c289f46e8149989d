import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { lab } from '../support/cli.js';
import { installedOnce, NPM_OPTIONS, SED_IN_PLACE } from '../support/machine.js';
import { snapshot, tree } from '../support/tree.js';
import { differences, rewoundFrom, thereAndBack } from './round.js';

/** 166 files of TypeScript. */
const PACKAGE = 'type-fest@4.41.0';
/** Has a program, so that npm makes a link in `.bin`. */
const WITH_PROGRAM = 'nanoid@3.3.7';

const installed = installedOnce(PACKAGE, WITH_PROGRAM);
const INCLUDED = ['--include', 'node_modules'];
const EVERY_TS = "-name '*.ts' -exec";

test('sed -i over every .ts of an installed package is undone byte for byte', async () => {
  const at = lab();
  installed.copyTo(at.root);
  const { before, left } = await thereAndBack(
    at,
    `find node_modules ${EVERY_TS} ${SED_IN_PLACE} 's/type/kind/g; $ s/$/ \\/\\/ end/' {} +`,
    { watch: INCLUDED },
  );
  const sources = Object.keys(before).filter((name) => name.endsWith('.ts'));
  expect(sources.length).toBeGreaterThan(150);
  expect(sources.filter((name) => left[name] === before[name])).toEqual([]);
});

test('so it is where the package itself is the workspace', async () => {
  const at = lab();
  installed.copyTo(at.root, 'node_modules/type-fest');
  await thereAndBack(at, `find . ${EVERY_TS} ${SED_IN_PLACE} '1d' {} +`);
});

test('npm install in a project is undone, links in .bin and the lock file included', async () => {
  const at = lab();
  tree(at.root, { 'package.json': '{ "name": "project", "private": true }\n', 'index.js': '1;\n' });
  const { left } = await thereAndBack(at, npm('install', WITH_PROGRAM), { watch: INCLUDED });
  expect(left['package-lock.json']).toBeDefined();
  expect(left['node_modules/.bin/nanoid']).toMatch(/^link /);
});

test('npm install of one more package leaves those that were there as they were', async () => {
  const at = lab();
  installed.copyTo(at.root);
  const { before } = await thereAndBack(at, npm('install', 'is-odd@3.0.1'), { watch: INCLUDED });
  expect(before['node_modules/is-odd']).toBeUndefined();
  expect(readFileSync(path.join(at.root, 'package.json'), 'utf8')).not.toContain('is-odd');
});

test('npm uninstall is undone: every file of the package is back', async () => {
  const at = lab();
  installed.copyTo(at.root);
  const { left } = await thereAndBack(at, npm('uninstall', 'nanoid'), { watch: INCLUDED });
  expect(left['node_modules/nanoid']).toBeUndefined();
  expect(readdirSync(path.join(at.root, 'node_modules/nanoid'))).toContain('package.json');
});

test('uninstall, edit and removal in three turns are undone by one rewind of the first', async () => {
  const at = lab();
  installed.copyTo(at.root);
  const before = snapshot(at.root);
  const turn = ['--turn', 'first', ...INCLUDED];
  await at.turn(npm('uninstall', 'nanoid'), ...turn);
  await at.turn('echo "edited" > node_modules/type-fest/index.d.ts', ...INCLUDED);
  await at.turn('rm -rf node_modules', ...INCLUDED);
  const rewound = rewoundFrom(await at.run(['rewind', '--json', 'first']));
  expect(differences(before, snapshot(at.root))).toEqual([]);
  expect(rewound).toMatchObject({ code: 0, complete: true });
});

function npm(...args: readonly string[]): string {
  return ['npm', ...args, ...NPM_OPTIONS].join(' ');
}
