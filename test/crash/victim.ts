import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { CLI, type Run, runProcess } from '../support/cli.js';
import type { World } from './world.js';

/** One thing that happens to one call: see `kill-at.mjs`. */
export type Blow = {
  readonly mode: 'before' | 'after' | 'half' | 'fail' | 'fail-from';
  readonly at: number;
  readonly errno?: string;
  /** Counts only the calls whose name and path fit. */
  readonly match?: RegExp;
};

/** A call that was made. */
export type Call = { readonly name: string; readonly path: string; readonly to?: string };

/** Loaded before a program that is to be watched. */
export const HOOK = fileURLToPath(new URL('kill-at.mjs', import.meta.url));
const WRITE_TURN = fileURLToPath(new URL('write-turn.mjs', import.meta.url));

/** What is run in a world: a command of the command line, or a program that uses the library. */
export type Program = readonly string[] | 'library';

/** Runs a program in a world, undisturbed or with a blow. */
export function strike(
  world: World,
  program: Program,
  blow: Blow | 'none' = 'none',
  options: { readonly reads?: boolean; readonly calls?: string } = {},
): Promise<Run> {
  const errno = blow === 'none' ? '' : (blow.errno ?? '');
  const env: NodeJS.ProcessEnv = {
    ...process.env,
    PREIMAGE_STORE: world.store,
    PREIMAGE_CRASH: blow === 'none' ? 'count' : `${blow.mode}:${blow.at}:${errno}`,
    PREIMAGE_CRASH_CALLS: options.calls ?? '',
    PREIMAGE_CRASH_MATCH: blow === 'none' ? '' : (blow.match?.source ?? ''),
    PREIMAGE_CRASH_READS: options.reads === true ? '1' : '',
    NO_COLOR: '1',
  };
  const args = program === 'library' ? [WRITE_TURN] : [CLI, ...program];
  return runProcess(process.execPath, ['--import', HOOK, ...args], { cwd: world.root, env });
}

/** Runs a program undisturbed and gives every call that it made. */
export async function callsOf(
  world: World,
  program: Program,
  options: { readonly reads?: boolean } = {},
): Promise<{ readonly calls: readonly Call[]; readonly run: Run }> {
  const file = path.join(path.dirname(world.root), 'calls');
  const run = await strike(world, program, 'none', { ...options, calls: file });
  const lines = fs.readFileSync(file, 'utf8').trim().split('\n');
  return { calls: lines.map((line) => JSON.parse(line)), run };
}
