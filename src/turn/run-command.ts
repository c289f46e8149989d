import fs from 'node:fs';
import os from 'node:os';
import { errnoOf, errnoWords } from '../core/problem.js';
import type { ByteString } from '../core/relpath.js';
import { toNative } from '../files/native-path.js';
import { childProcess } from '../files/on-demand.js';

/** How a command ended. */
export type CommandResult =
  | { readonly kind: 'exited'; readonly exitCode: number }
  /** A signal ended it; the code is 128 and the signal's number, as shells say it. */
  | { readonly kind: 'killed'; readonly signal: NodeJS.Signals; readonly exitCode: number }
  /** It could not be started: code 127 where it was not found, 126 else. */
  | { readonly kind: 'not-started'; readonly exitCode: 126 | 127; readonly reason: string };

/**
 * Runs a command with our own terminal and in our own process group, so that Ctrl-C, Ctrl-Z and job
 * control reach it as without us. Signals do not end us while it runs: it decides, and we close the
 * step. The signals stay caught until the caller calls `release`. `onStart` gets what ends the command
 * early: SIGTERM, and SIGKILL for one that still runs 5 seconds later.
 */
export async function runCommand(
  command: readonly string[],
  cwd: ByteString,
  onStart: (stop: () => void) => void = () => {},
): Promise<{ readonly result: CommandResult; readonly release: () => void }> {
  const [program = '', ...args] = command;
  let forward: (signal: NodeJS.Signals) => void = () => {};
  const release = catchSignals((signal) => {
    forward(signal);
  }, 'unless-terminal-does');
  const result = await new Promise<CommandResult>((resolve) => {
    const child = childProcess().spawn(program, args, {
      stdio: 'inherit',
      cwd: toNative(cwd).toString(),
    });
    forward = (signal) => {
      child.kill(signal);
    };
    let killer: NodeJS.Timeout | undefined;
    onStart(() => {
      if (killer !== undefined) return;
      child.kill('SIGTERM');
      killer = setTimeout(() => child.kill('SIGKILL'), PATIENCE_MS);
    });
    child.on('error', (error) => {
      const exitCode = errnoOf(error) === 'ENOENT' ? 127 : 126;
      resolve({ kind: 'not-started', exitCode, reason: errnoWords(error) });
    });
    child.on('exit', (code, signal) => {
      clearTimeout(killer);
      if (signal === null) resolve({ kind: 'exited', exitCode: code ?? 0 });
      else resolve({ kind: 'killed', signal, exitCode: 128 + (os.constants.signals[signal] ?? 0) });
    });
  });
  forward = () => {};
  return { result, release };
}

/** How long a command that is to end may take for that. */
const PATIENCE_MS = 5000;

/** Waits for Ctrl-C, SIGTERM or SIGHUP. */
export function waitForSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    const release = catchSignals((signal) => {
      release();
      resolve(signal);
    }, 'always');
  });
}

const FORWARDED = ['SIGTERM', 'SIGHUP'] as const;
const FROM_TERMINAL = ['SIGINT', 'SIGQUIT'] as const;

/**
 * Catches what would end us. SIGTERM and SIGHUP are sent on, for they may have been meant for us
 * alone. SIGINT and SIGQUIT are sent on only where no terminal sends them to the whole foreground
 * group anyway: a second SIGINT makes many programs give up their clean-up.
 */
function catchSignals(
  onSignal: (signal: NodeJS.Signals) => void,
  interrupts: 'always' | 'unless-terminal-does',
): () => void {
  const handlers: (readonly [NodeJS.Signals, () => void])[] = [];
  const add = (signal: NodeJS.Signals, forwarded: () => boolean): void => {
    const handler = (): void => {
      if (forwarded()) onSignal(signal);
    };
    handlers.push([signal, handler]);
    process.on(signal, handler);
  };
  for (const signal of FORWARDED) add(signal, () => true);
  for (const signal of FROM_TERMINAL) add(signal, () => interrupts === 'always' || !isForeground());
  return () => {
    for (const [signal, handler] of handlers) process.off(signal, handler);
  };
}

/** Reports whether we are in the foreground group of a terminal (proc(5): pgrp and tpgid). */
function isForeground(): boolean {
  try {
    const stat = fs.readFileSync('/proc/self/stat', 'latin1');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[2] === fields[5];
  } catch {
    return process.stdin.isTTY === true;
  }
}
