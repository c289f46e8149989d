// @ts-check
import { execFileSync } from 'node:child_process';
import os from 'node:os';

/**
 * What the figures were measured on.
 * @param {string} directory where they are measured
 * @returns {Record<string, string>}
 */
export function describeMachine(directory) {
  const cpus = os.cpus();
  return {
    cores: `${cpus.length} × ${cpus[0]?.model.trim() ?? 'unknown'}`,
    memory: `${Math.round(os.totalmem() / 2 ** 30)} GiB`,
    kernel: `${os.type()} ${os.release()}`,
    'file system': ask('df', ['--output=fstype', directory]).split('\n').at(-1) ?? '',
    node: process.version,
    git: ask('git', ['--version']).replace(/^git version /, ''),
    cp: ask('cp', ['--version']).split('\n')[0] ?? '',
    load: os.loadavg()[0]?.toFixed(2) ?? '',
  };
}

/** @param {string} command @param {string[]} args */
function ask(command, args) {
  try {
    return execFileSync(command, args, {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    return 'unknown';
  }
}
