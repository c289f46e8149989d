import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { closeTurn, openHook, openStore } from '../../src/index.js';
import { attributesOf, removeAttribute, setAcl, setAttribute } from '../support/attributes.js';
import { ACLS, ATTRIBUTES } from '../support/machine.js';
import { exec, file, snapshot, symlink, temporary, tree } from '../support/tree.js';

/** A workspace with a file of every kind, and what stood in it at each moment of its history. */
export type World = {
  readonly root: string;
  readonly store: string;
  /** Beside the workspace: holds another name of one of its files. */
  readonly outside: string;
  /** Before the turns `one`, `two` and `three`, and after `three` if it was made. */
  readonly states: readonly Look[];
};

/** All that can be seen of a workspace from outside, which names are one file included. */
export type Look = Record<string, string>;

/** Looks at a world by means that are not ours. */
export function look({ root, outside }: Pick<World, 'root' | 'outside'>): Look {
  return {
    ...snapshot(root),
    'names of one file': namesOfOneFile([root, outside]),
    ...(WITH_ATTRIBUTES ? attributesByPath(root) : {}),
  };
}

/** Tells which path's attributes an entry of a look describes; undefined for all other entries. */
export function attributesOfWhich(name: string): string | undefined {
  return name.endsWith(OF_ATTRIBUTES) ? name.slice(0, -OF_ATTRIBUTES.length) : undefined;
}

const OF_ATTRIBUTES = ' (attributes)';

function attributesByPath(root: string): Look {
  const found: Look = {};
  for (const record of attributesOf(root)) {
    const name = /^# file: (.*)/.exec(record)?.[1] ?? '';
    found[name + OF_ATTRIBUTES] = `${found[name + OF_ATTRIBUTES] ?? ''}${record}\n\n`;
  }
  return found;
}

/** Makes a world with two closed turns behind it. */
export async function makeWorld(): Promise<World> {
  const base = temporary('preimage-crash');
  const at = {
    root: path.join(base, 'ws'),
    store: path.join(base, 'home', 'store'),
    outside: path.join(base, 'outside'),
  };
  fillWorkspace(at.root, at.outside);
  const states = [look(at)];
  for (const [id, change] of [['one', changeOne] as const, ['two', changeTwo] as const]) {
    await makeTurn(at, id, () => {
      change(at.root);
    });
    states.push(look(at));
  }
  return { ...at, states };
}

/** Makes the turn `three`, which touches everything. */
export async function withTurnThree(world: World): Promise<World> {
  await makeTurn(world, 'three', () => {
    changeThree(world.root);
  });
  return { ...world, states: [...world.states, look(world)] };
}

/** Opens and closes a turn around a change, in this process. */
export async function makeTurn(
  at: Pick<World, 'root' | 'store'>,
  turn: string,
  change: () => void,
): Promise<void> {
  const which = { root: at.root, store: at.store, turn };
  await openHook({ ...which, watcher: 'none' });
  change();
  await closeTurn(which);
}

/** Puts a world back to before a turn, in this process; says what was not put back. */
export async function rewindTo(world: World, turn: string): Promise<string[]> {
  const store = openStore({ root: world.root, store: world.store });
  try {
    const { outcomes } = await store.rewind({ turn });
    return outcomes
      .filter(({ outcome }) => !['restored', 'deleted', 'unchanged'].includes(outcome))
      .map(({ path: at, outcome, reason }) => `${at}: ${outcome}: ${reason}`);
  } finally {
    store.close();
  }
}

const MANY = 24;
const WITH_ATTRIBUTES = ATTRIBUTES.isHere() && ACLS.isHere();

function fillWorkspace(root: string, outside: string): void {
  tree(root, {
    'plain.txt': 'plain, before all\n',
    'secret.env': file('TOKEN=1\n', 0o600),
    'run.sh': exec('#!/bin/sh\n'),
    'only-mode': file('only its mode changes\n', 0o640),
    'zero-after': 'not empty\n',
    'zero-before': '',
    'stays.txt': 'is never touched\n',
    link: symlink('plain.txt'),
    'link-to-directory': symlink('nested'),
    empty: {},
    nested: { deep: { er: { 'file.txt': 'deep\n' } }, 'gone.txt': 'gone later\n' },
    'file-then-directory': 'a file\n',
    'directory-then-file': { 'inner.txt': 'inner\n', deeper: { 'x.txt': 'x\n' } },
    'file-then-pipe': 'not a pipe\n',
    many: Object.fromEntries(Array.from({ length: MANY }, (_, i) => [`${i}.txt`, `old ${i}\n`])),
    'large.bin': Buffer.alloc(300_000, 'large '),
    'both-gone-a': 'a pair, deleted\n',
    'both-written-a': 'a pair, written in place\n',
    'one-gone-a': 'three names, one deleted\n',
    'also-outside': 'has a name outside\n',
  });
  const second = (from: string, to: string): void => {
    fs.linkSync(path.join(root, from), path.join(root, to));
  };
  second('both-gone-a', 'both-gone-b');
  second('both-gone-a', 'nested/both-gone-c');
  second('both-written-a', 'both-written-b');
  second('one-gone-a', 'one-gone-b');
  second('one-gone-a', 'one-gone-c');
  fs.mkdirSync(outside);
  fs.linkSync(path.join(root, 'also-outside'), path.join(outside, 'name'));
  makePipe(path.join(root, 'pipe'));
  if (!WITH_ATTRIBUTES) return;
  for (const name of ['secret.env', 'only-mode', 'both-written-a', 'also-outside', 'nested']) {
    setAttribute(path.join(root, name), 'user.note', `of ${name}`);
  }
  for (const name of ['run.sh', 'nested/deep']) setAcl(path.join(root, name), '-m', 'u:12345:rx');
  setAcl(path.join(root, 'many'), '-m', 'd:u:12345:rx');
}

function changeOne(root: string): void {
  fs.writeFileSync(path.join(root, 'plain.txt'), 'plain, after one\n');
  fs.writeFileSync(path.join(root, 'made-by-one'), 'made by one\n');
  fs.rmSync(path.join(root, 'many/0.txt'));
}

function changeTwo(root: string): void {
  fs.writeFileSync(path.join(root, 'plain.txt'), 'plain, after two\n');
  fs.rmSync(path.join(root, 'made-by-one'));
  fs.chmodSync(path.join(root, 'nested/deep'), 0o750);
  fs.writeFileSync(path.join(root, 'many/1.txt'), 'after two\n');
}

/** Touches every kind of path in every way. */
export function changeThree(root: string): void {
  const at = (name: string): string => path.join(root, name);
  const remove = (name: string): void => {
    fs.rmSync(at(name), { recursive: true });
  };
  const write = (name: string, text: string): void => {
    fs.writeFileSync(at(name), text);
  };
  write('plain.txt', 'plain, after three\n');
  write('secret.env', 'TOKEN=2, longer than before\n');
  write('run.sh', '#!/bin/bash\n');
  fs.chmodSync(at('run.sh'), 0o644);
  fs.chmodSync(at('only-mode'), 0o4755);
  write('zero-after', '');
  write('zero-before', 'not empty any more\n');
  remove('link');
  fs.symlinkSync('stays.txt', at('link'));
  remove('link-to-directory');
  tree(root, { 'link-to-directory': { 'was-a-link.txt': 'x\n' } });
  remove('empty');
  remove('nested');
  remove('file-then-directory');
  tree(root, { 'file-then-directory': { 'a.txt': 'a\n', sub: { 'b.txt': 'b\n' } } });
  remove('directory-then-file');
  write('directory-then-file', 'a file now\n');
  remove('file-then-pipe');
  makePipe(at('file-then-pipe'));
  remove('pipe');
  for (const name of fs.readdirSync(at('many'))) write(`many/${name}`, `new ${name}\n`);
  write('large.bin', 'small now\n');
  fs.writeFileSync(at('made.bin'), Buffer.alloc(200_000, 'made '));
  tree(root, { made: { 'x.txt': 'x\n', empty: {} } });
  fs.chmodSync(at('made/empty'), 0o700);
  for (const name of ['both-gone-a', 'both-gone-b', 'one-gone-b']) remove(name);
  write('both-written-a', 'written in place: both names\n');
  write('also-outside', 'written in place, outside as well, and longer\n');
  if (!WITH_ATTRIBUTES) return;
  setAttribute(at('stays.txt'), 'user.note', 'comes');
  setAttribute(at('many'), 'user.note', 'comes');
  setAttribute(at('both-written-a'), 'user.note', 'changed');
  removeAttribute(at('also-outside'), 'user.note');
  setAcl(at('run.sh'), '-b');
  setAcl(at('made'), '-m', 'u:12345:rx');
}

function makePipe(at: string): void {
  const { status } = spawnSync('mkfifo', [at]);
  if (status !== 0) throw new Error(`mkfifo ${at} ended with ${status}`);
}

/** Names each group of paths that are one file. */
function namesOfOneFile(roots: readonly string[]): string {
  const groups = new Map<string, string[]>();
  const walk = (directory: string, shown: string): void => {
    for (const name of fs.readdirSync(directory).sort()) {
      const stat = fs.lstatSync(path.join(directory, name));
      if (stat.isDirectory()) walk(path.join(directory, name), `${shown}/${name}`);
      if (!stat.isFile() || stat.nlink === 1) continue;
      const inode = `${stat.dev}:${stat.ino}`;
      groups.set(inode, [...(groups.get(inode) ?? []), `${shown}/${name}`]);
    }
  };
  for (const root of roots) walk(root, path.basename(root));
  return [...groups.values()]
    .map((names) => names.join(' = '))
    .sort()
    .join('; ');
}
