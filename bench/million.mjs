// @ts-check

import { spawn } from 'node:child_process';
import crypto from 'node:crypto';
import { once } from 'node:events';
import fs from 'node:fs';
import { join } from 'node:path';
import { runAlone } from './alone.mjs';
import { changeFiles } from './edits.mjs';
import { plainFloors } from './floors.mjs';
import { judge, millionGoals } from './goals.mjs';
import { calm, timed } from './measure.mjs';
import { makeHollowRepository } from './peers/git.mjs';
import { aloneTable, figure, spread, table } from './table.mjs';

const NAME = 'a million files';
const DIRECTORIES = 60_000;
const FILES = 1_000_000;
const CHANGED = 100;
const ACTS = ['first open', 'first close', 'warm open', 'close', 'rewind'];

/**
 * A million tiny files, opened, closed with some of them changed, and rewound, each
 * act in a process of its own. After each rewind all names, modes and bytes are compared with those
 * before, by `find` and `sha256sum`.
 * @param {import('./suite.mjs').Run} run
 * @returns {Promise<import('./goals.mjs').Verdict[]>}
 */
export async function runMillion({ directory, samples, rounds, quick, output }) {
  const files = quick ? FILES / 100 : FILES;
  const home = join(directory, 'million');
  const root = join(home, 'tree');
  const where = { root, store: join(home, 'store') };
  output.say(`${NAME}: making them`);
  makeTree(root, files);
  const before = await digest(root);
  /** @param {string} name @param {import('./alone.mjs').Act} act @param {string} turn */
  const measure = (name, act, turn) => {
    output.say(`${NAME}: ${name}`);
    calm(home);
    const { ms, peak } = runAlone(act, { ...where, turn });
    const about = { tree: NAME, peer: 'preimage', changed: 0 };
    samples.add({ ...about, act: `alone ${name}` }, ms);
    samples.add({ ...about, act: `memory ${name}` }, peak / 1e6);
  };
  measure('first open', 'open', 'first');
  measure('first close', 'close', 'first');
  output.say(`${NAME}: git's index of them`);
  const git = makeHollowRepository(root, join(home, 'git'), home);
  const status = () => git('status', '--porcelain');
  for (let round = 1; round <= rounds; round++) {
    const turn = `round-${round}`;
    measure('warm open', 'open', turn);
    changeFiles(root, chosen(files), turn);
    measure('close', 'close', turn);
    measure('rewind', 'rewind', turn);
    output.say(`${NAME}: comparing all bytes`);
    if ((await digest(root)) !== before) throw new Error('The rewind did not put the tree back.');
    // Git reads again what a rewind wrote: not while it is timed.
    status();
    /** @type {[string, () => unknown][]} */
    const floors = [['git status', status], ...plainFloors(root, home)];
    for (const [peer, act] of floors) {
      calm(home);
      samples.add({ tree: NAME, peer, act: 'floor', changed: 0 }, await timed(act));
    }
  }
  const verdicts = judge(samples, NAME, millionGoals(files, ACTS));
  const floors = ['git status', 'find -newer', 'cat'].map((peer) => {
    const summary = samples.summary({ tree: NAME, peer, act: 'floor', changed: 0 });
    return [peer, spread(summary), figure(((summary?.median ?? Number.NaN) / files) * 1e3)];
  });
  output.print(
    `## ${NAME}: ${files} in ${DIRECTORIES / (FILES / files)} directories, ${CHANGED} changed, rounds: ${rounds}\n`,
    aloneTable({ samples, tree: NAME, files }, ACTS, verdicts),
    '',
    table(['floors', 'ms: median (min–max)', 'µs a file'], floors),
  );
  return verdicts;
}

/** Directories two levels deep, so many of them as a million files would have. @param {string} root @param {number} files */
function makeTree(root, files) {
  const each = FILES / DIRECTORIES;
  let made = '';
  for (let i = 0; i < files; i++) {
    const directory = join(root, pathOf(Math.floor(i / each)));
    if (directory !== made) fs.mkdirSync(directory, { recursive: true });
    made = directory;
    fs.writeFileSync(join(directory, `file-${i}.txt`), `This is file ${i} of very many.\n`);
  }
}

/** @param {number} files */
function chosen(files) {
  const each = FILES / DIRECTORIES;
  return Array.from({ length: CHANGED }, (_, n) => {
    const i = Math.floor(((n + 0.5) / CHANGED) * files);
    return { path: join(pathOf(Math.floor(i / each)), `file-${i}.txt`), size: 0 };
  });
}

/** @param {number} directory */
function pathOf(directory) {
  return join(`part-${Math.floor(directory / 250)}`, `directory-${directory}`);
}

/**
 * One hash over every name, type, mode and content, made by other programs than ours.
 * @param {string} root
 * @returns {Promise<string>}
 */
async function digest(root) {
  const script = `set -e; find . -printf '%p %y %m\\n' | sort; find . -type f -print0 | sort -z | xargs -0 sha256sum`;
  const shell = spawn('sh', ['-c', script], {
    cwd: root,
    env: { PATH: process.env.PATH, LC_ALL: 'C' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const hash = crypto.createHash('sha256');
  const ended = once(shell, 'close');
  for await (const part of shell.stdout) hash.update(part);
  const [status] = await ended;
  if (status !== 0) throw new Error(`find and sha256sum failed: ${status}`);
  return hash.digest('hex');
}
