// @ts-check
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { timed } from './measure.mjs';

const CLI = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url));
const HOOK = fileURLToPath(new URL('./first-call.cjs', import.meta.url));
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
  watch(few, fewStore, ['--no-watch', '--turn', 'few']);
  measureFirstCalls(few, fewStore, directory, samples);
}

/** The act of a figure that is how long a process took to its first useful call. */
export const FIRST_CALL = 'first call';
/** The program that does nothing else. */
export const EMPTY_SCRIPT = 'an empty script';

/** Every command, with what it cannot do without. */
export const COMMANDS = [
  ...[
    'watch -- true',
    'watch --no-watch -- true',
    'open --turn x',
    'close --turn x',
    'list',
    'show few',
    'diff few',
    'cat few 0.txt',
  ],
  ...['log 0.txt', 'report', 'blame 0.txt', 'search few', 'stats', 'rewind --dry-run', 'redo'],
  ...['status', 'prune --dry-run', 'verify', 'doctor', 'export few --out nowhere'],
];

/**
 * The time from the start of a process to its first call about the workspace or the store, or to the
 * start of its watcher host, for that takes longest and is begun first. Nothing is done beyond that call.
 * @param {string} root a workspace
 * @param {string} store its store, with a turn named `few`
 * @param {string} directory
 * @param {import('./measure.mjs').Samples} samples
 */
function measureFirstCalls(root, store, directory, samples) {
  const empty = join(directory, 'empty.mjs');
  fs.writeFileSync(empty, `import fs from 'node:fs';\nfs.lstatSync(${JSON.stringify(root)});\n`);
  /** @type {[string, string[]][]} */
  const programs = [
    [EMPTY_SCRIPT, [empty]],
    ...COMMANDS.map(
      (line) => /** @type {[string, string[]]} */ ([line, [CLI, ...line.split(' ')]]),
    ),
  ];
  const env = {
    ...process.env,
    PREIMAGE_STORE: store,
    PREIMAGE_HOME: join(directory, 'home'),
    FIRST_CALL_UNDER: [root, store].join(delimiter),
  };
  for (let i = 0; i <= RUNS; i++) {
    for (const [name, args] of programs) {
      const done = spawnSync(process.execPath, ['--require', HOOK, ...args], {
        cwd: root,
        env,
        encoding: 'utf8',
      });
      const ms = Number.parseFloat(done.stdout);
      if (Number.isNaN(ms)) throw new Error(`${name} made no call: ${done.stderr}`);
      // The first run of all is to warm the caches.
      if (i > 0) samples.add({ tree: START_UP, peer: name, act: FIRST_CALL, changed: 0 }, ms);
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
