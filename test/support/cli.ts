import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { temporary } from './tree.js';

/** What a run of the command line came to. */
export type Run = { readonly code: number; readonly stdout: string; readonly stderr: string };

/** The built command line. */
export const CLI = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));

/** A workspace with a store of its own, and the command line in it. */
export type Lab = {
  /** Real path of the workspace; it exists and is empty. */
  readonly root: string;
  /** Parent of the stores (PREIMAGE_HOME). */
  readonly home: string;
  readonly env: NodeJS.ProcessEnv;
  /** Runs `preimage …` in the workspace (or `cwd`). */
  readonly run: (args: readonly string[], options?: RunOptions) => Promise<Run>;
  /** Runs `preimage watch -- sh -c SCRIPT` and throws unless it ends with 0. */
  readonly turn: (script: string, ...options: string[]) => Promise<Run>;
  /** Runs with `--json` and parses stdout. */
  readonly json: <T>(args: readonly string[], options?: RunOptions) => Promise<T>;
};

export type RunOptions = {
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly input?: string;
};

/** Makes a workspace and a store for one test. */
export function lab(): Lab {
  const base = temporary('preimage-lab');
  const root = path.join(base, 'ws');
  const home = path.join(base, 'home');
  const env: NodeJS.ProcessEnv = { ...process.env, PREIMAGE_HOME: home, NO_COLOR: '1' };
  delete env.PREIMAGE_STORE;
  return labAt(root, home, env);
}

function labAt(root: string, home: string, env: NodeJS.ProcessEnv): Lab {
  mkdirSync(root, { recursive: true });
  const run: Lab['run'] = (args, options = {}) =>
    runProcess(process.execPath, [CLI, ...args], {
      cwd: options.cwd ?? root,
      env: { ...env, ...options.env },
      ...(options.input === undefined ? {} : { input: options.input }),
    });
  return {
    root,
    home,
    env,
    run,
    turn: async (script, ...options) => {
      const result = await run(['watch', ...options, '--', 'sh', '-c', script]);
      if (result.code !== 0)
        throw new Error(`the turn ended with ${result.code}: ${result.stderr}`);
      return result;
    },
    json: async (args, options) => {
      const [command = '', ...rest] = args;
      const result = await run([command, '--json', ...rest], options);
      try {
        return JSON.parse(result.stdout);
      } catch {
        throw new Error(`no JSON (exit ${result.code}): ${result.stdout}${result.stderr}`);
      }
    },
  };
}

/** Runs a program to its end. */
export function runProcess(
  program: string,
  args: readonly string[],
  options: { readonly cwd: string; readonly env: NodeJS.ProcessEnv; readonly input?: string },
): Promise<Run> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd: options.cwd, env: options.env });
    const out: Buffer[] = [];
    const err: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => out.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => err.push(chunk));
    child.on('error', reject);
    child.on('close', (code, signal) => {
      const [stdout, stderr] = [Buffer.concat(out).toString(), Buffer.concat(err).toString()];
      resolve({ code: code ?? (signal === null ? 0 : 128), stdout, stderr });
    });
    child.stdin.on('error', () => {});
    child.stdin.end(options.input ?? '');
  });
}
