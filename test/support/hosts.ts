import { spawnSync } from 'node:child_process';
import fs from 'node:fs';

/** Finds the processes that stand in a store: its watcher hosts. Gives their numbers. */
export function hostsOf(store: string): string[] {
  const here = (directory: string): boolean => directory.replace(/ \(deleted\)$/, '') === store;
  if (process.platform !== 'linux') return listed().flatMap(([pid, at]) => (here(at) ? [pid] : []));
  return fs.readdirSync('/proc').filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      return here(fs.readlinkSync(`/proc/${pid}/cwd`));
    } catch {
      return false;
    }
  });
}

/** Finds the processes of which the command line names a file. Gives their numbers. */
export function processesNaming(file: string): string[] {
  if (process.platform !== 'linux') {
    const { stdout } = spawnSync('ps', ['-axo', 'pid=,args='], { encoding: 'utf8' });
    return stdout.split('\n').flatMap((line) => (line.includes(file) ? [line.trim()] : []));
  }
  return fs.readdirSync('/proc').filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      return fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(file);
    } catch {
      return false;
    }
  });
}

/** Lists processes with the directory that each stands in, by the portable program for that. */
function listed(): (readonly [string, string])[] {
  const { stdout, error } = spawnSync('lsof', ['-d', 'cwd', '-Fpn'], { encoding: 'utf8' });
  if (error !== undefined) throw error;
  const found = stdout.matchAll(/^p(\d+)\n(?:f.*\n)?n(.*)$/gm);
  return [...found].map(([, pid = '', at = '']) => [pid, at]);
}
