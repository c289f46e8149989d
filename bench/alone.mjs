// @ts-check
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/**
 * @typedef {'open' | 'close' | 'rewind'} Act
 * @typedef {{ root: string, store: string, turn: string, include?: readonly string[] }} Where
 * @typedef {{ ms: number, peak: number }} Took without the start of the process; bytes
 */

/**
 * Runs an act of ours in a new process, so that its memory is that of nothing else.
 * @param {Act} act
 * @param {Where} where
 * @returns {Took}
 */
export function runAlone(act, where) {
  const done = spawnSync(process.execPath, [SCRIPT, act, JSON.stringify(where)], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  if (done.status === 0) return JSON.parse(done.stdout);
  throw new Error(`${act} of ${where.root} failed: ${done.stderr || done.error}`);
}

const SCRIPT = fileURLToPath(new URL('./act.mjs', import.meta.url));
