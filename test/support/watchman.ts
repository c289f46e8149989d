import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import net from 'node:net';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { command, type Need } from './machine.js';
import { temporary } from './tree.js';

/** Watchman itself, and its client. */
export const WATCHMAN: Need = command('watchman');

/** A watchman of a test's own: nobody else's watches, state or socket. */
export type Server = {
  /** Says what its client prints for a command. */
  readonly tell: (...args: string[]) => string;
  /** Kills it and starts it anew, as a power cut would. */
  readonly restart: () => Promise<void>;
  readonly kill: () => Promise<void>;
  readonly socket: string;
};

/** Starts a watchman and has this process ask it; both are over with the test. */
export async function watchman(): Promise<Server> {
  const at = temporary('preimage-watchman');
  const socket = path.join(at, 'sock');
  useSocket(socket);
  const own = [
    `--sockname=${socket}`,
    `--logfile=${path.join(at, 'log')}`,
    `--statefile=${path.join(at, 'state')}`,
    `--pidfile=${path.join(at, 'pid')}`,
  ];
  let server: ChildProcess | undefined;
  const kill = async (): Promise<void> => {
    if (server === undefined) return;
    const gone = once(server, 'exit');
    server.kill('SIGKILL');
    server = undefined;
    await gone;
  };
  onTestFinished(kill);
  const start = async (): Promise<void> => {
    server = spawn('watchman', ['--foreground', ...own], { stdio: 'ignore' });
    const until = Date.now() + 10_000;
    while (!(await answers(socket))) {
      if (Date.now() > until) throw new Error('watchman does not start');
    }
  };
  await start();
  return {
    tell: (...args) => {
      const run = spawnSync('watchman', ['--no-spawn', ...own, ...args], { encoding: 'utf8' });
      if (run.status !== 0) throw new Error(`watchman ${args.join(' ')}: ${run.stderr}`);
      return run.stdout;
    },
    restart: async () => {
      await kill();
      await start();
    },
    kill,
    socket,
  };
}

/** Names the socket that watchman is asked through, as long as the test runs. */
export function useSocket(socket: string): void {
  const before = process.env.WATCHMAN_SOCK;
  process.env.WATCHMAN_SOCK = socket;
  onTestFinished(() => {
    if (before === undefined) delete process.env.WATCHMAN_SOCK;
    else process.env.WATCHMAN_SOCK = before;
  });
}

function answers(socket: string): Promise<boolean> {
  return new Promise((resolve) => {
    const connection = net.connect(socket);
    const say = (is: boolean) => (): void => {
      connection.destroy();
      setTimeout(resolve, is ? 0 : 10, is);
    };
    connection.once('connect', say(true));
    connection.once('error', say(false));
  });
}
