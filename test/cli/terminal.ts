import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Lab, runProcess } from '../support/cli.js';

/** What came of a program on a terminal of its own. */
export type Played = {
  readonly output: string;
  readonly code: number | null;
  readonly signal: number | null;
  /** The text that did not come within the deadline. */
  readonly missing: string | null;
};

const PLAYER = fileURLToPath(new URL('./terminal.py', import.meta.url));

/**
 * Runs a program on a pseudo-terminal, in the foreground group of a session of its own: waits for each text in
 * turn and types the keys after it. With `hangup` the terminal goes away after the last keys.
 */
export async function onTerminal(
  { root, env }: Lab,
  argv: readonly string[],
  part: readonly (readonly [expect: string, keys: string])[],
  options: { readonly hangup?: boolean } = {},
): Promise<Played> {
  const hangup = options.hangup === true;
  const job = { argv, cwd: root, env: { ...env, TERM: 'dumb', PS1: '$ ' }, part, hangup };
  const run = await runProcess('python3', [PLAYER, JSON.stringify(job)], {
    cwd: path.dirname(PLAYER),
    env,
  });
  if (run.code !== 0) throw new Error(`the player failed: ${run.stderr}`);
  return JSON.parse(run.stdout);
}

/** The keys that the terminal turns into signals for the foreground group. */
export const KEYS = { interrupt: '\u0003', stop: '\u001a', quit: '\u001c' } as const;
