// @ts-check
import { spawnSync } from 'node:child_process';

/**
 * Gives a way to run a program that sees nothing of the user: no settings, no caches, no password of
 * theirs; what it keeps for itself goes to `home`. What it prints comes back.
 * @param {string} command
 * @param {{ cwd: string, home: string, env?: Record<string, string> }} where
 * @returns {(...args: string[]) => string}
 */
export function tool(command, { cwd, home, env = {} }) {
  const own = { PATH: process.env.PATH ?? '', HOME: home, LC_ALL: 'C', ...env };
  return (...args) => {
    const done = spawnSync(command, args, {
      cwd,
      env: own,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      maxBuffer: MAX_OUTPUT,
    });
    if (done.status === 0) return done.stdout.trim();
    const why = done.error?.message ?? done.stderr.trim().split('\n').slice(-3).join('; ');
    throw new Error(`${command} ${args.join(' ')} failed: ${why}`);
  };
}

/**
 * Asks a program for its version: the first line that it prints, or `undefined` where it is missing.
 * @param {string} command
 * @param {string} [how]
 */
export function versionOf(command, how = '--version') {
  const asked = spawnSync(command, [how], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  return asked.status === 0 ? asked.stdout.trim().split('\n')[0] : undefined;
}

/**
 * Git, rsync and others that compare stamps by the second read again, or miss, what was written in
 * the same second as their last look: wait for the next one, so that they need not and do not.
 */
export function waitForNextSecond() {
  const rest = 1_000 - (Date.now() % 1_000) + 20;
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, rest);
}

const MAX_OUTPUT = 256 * 1024 * 1024;
