import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';

/** Finds the processes that stand in a store: its watcher hosts. Gives their numbers. */
export function hostsOf(store: string): string[] {
  const here = (directory: string): boolean => directory.replace(/ \(deleted\)$/, '') === store;
  if (process.platform === 'linux')
    return processes((at) => here(fs.readlinkSync(path.join(at, 'cwd'))));
  return listed().flatMap(([pid, at]) => (here(at) ? [pid] : []));
}

/** Finds the processes of which the command line names a file. Gives their numbers. */
export function processesNaming(file: string): string[] {
  if (process.platform === 'linux')
    return processes((at) => fs.readFileSync(path.join(at, 'cmdline'), 'utf8').includes(file));
  const { stdout } = spawnSync('ps', ['-axo', 'pid=,args='], { encoding: 'utf8' });
  return stdout.split('\n').flatMap((line) => (line.includes(file) ? [line.trim()] : []));
}

/** Finds processes by what proc(5) tells of them; one that ends meanwhile is not among them. */
function processes(isMeant: (at: string) => boolean): string[] {
  return fs.readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && isMeant(path.join('/proc', pid));
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
