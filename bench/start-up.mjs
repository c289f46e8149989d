// @ts-check
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { timed } from './measure.mjs';

const CLI = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url));
const FEW_FILES = 10;
const RUNS = 7;

/** What figures of whole processes belong to. */
export const START_UP = 'start-up';
/** The command lines that goals are set for. */
export const WATCH_FEW = {
  watched: `watch -- true, ${FEW_FILES} files`,
  unwatched: `watch --no-watch -- true, ${FEW_FILES} files`,
};

/**
 * Whole processes: what `watch -- true` takes from start to end, beside what it cannot do without.
 * @param {import('./rounds.mjs').Seat} ours a tree that was captured before
 * @param {string} directory fresh
 * @param {import('./measure.mjs').Samples} samples
 */
export async function measureStartUp(ours, directory, samples) {
  const few = join(directory, 'few');
  fs.mkdirSync(few, { recursive: true });
  for (let i = 0; i < FEW_FILES; i++) fs.writeFileSync(join(few, `${i}.txt`), `file ${i}\n`);
  const fewStore = join(directory, 'few-store');
  const ourStore = join(ours.home, 'store');
  /** @type {[string, () => void][]} */
  const acts = [
    ['true', () => run('true', [])],
    ['git --version', () => run('git', ['--version'])],
    ['node, an empty script', () => run(process.execPath, ['-e', ''])],
    [WATCH_FEW.watched, () => watch(few, fewStore, [])],
    [WATCH_FEW.unwatched, () => watch(few, fewStore, ['--no-watch'])],
    ['watch -- true, whole tree', () => watch(ours.root, ourStore, [])],
    ['watch --no-watch -- true, whole tree', () => watch(ours.root, ourStore, ['--no-watch'])],
  ];
  for (const [, act] of acts) act();
  for (let i = 0; i < RUNS; i++) {
    for (const [name, act] of acts) {
      samples.add({ tree: START_UP, peer: name, act: 'process', changed: 0 }, await timed(act));
    }
  }
}

/** @param {string} root @param {string} store @param {readonly string[]} options */
function watch(root, store, options) {
  const own = ['--root', root, '--store', store, ...options];
  run(process.execPath, [CLI, 'watch', '--quiet', ...own, '--', 'true']);
}

/** @param {string} command @param {readonly string[]} args */
function run(command, args) {
  const done = spawnSync(command, args, { stdio: ['ignore', 'ignore', 'pipe'], encoding: 'utf8' });
  if (done.status === 0) return;
  throw new Error(`${command} ${args.join(' ')} failed: ${done.stderr || done.error}`);
}
