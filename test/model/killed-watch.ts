import { spawn } from 'node:child_process';
import { CLI } from '../support/cli.js';
import { LIMIT } from './oracle.js';

/** Writes, makes and removes until it is done; by the shell's own means as far as it has them. */
const SCRIPT = `
  i=0
  while [ $i -lt 40 ]; do
    i=$((i+1)); echo $i > a; echo $i >> b; mkdir -p k; echo $i > k/$i; rm -rf a- k/$((i-3))
  done
  mv k/40 .env; ln -sfn a c`;

/** Runs a watch and ends it, its command and its watcher after so many milliseconds, if it still runs. */
export function killWatch(at: {
  readonly root: string;
  readonly store: string;
  readonly after: number;
}): Promise<void> {
  const which = ['--root', at.root, '--store', at.store, '--max-file', String(LIMIT)];
  const words = [CLI, 'watch', ...which, '--no-watch', '--quiet', '--', 'sh', '-c', SCRIPT];
  const options = { cwd: at.root, stdio: 'ignore', detached: true } as const;
  const child = spawn(process.execPath, words, options);
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      // The whole group: the command does not live on.
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    }, at.after);
    child.on('error', reject);
    child.on('exit', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
