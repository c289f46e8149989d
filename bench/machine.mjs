// @ts-check
import { execFileSync } from 'node:child_process';
import os from 'node:os';
import { versionOf } from './peers/tool.mjs';

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
    'file system': fileSystem(directory),
    node: process.version,
    ...Object.fromEntries(
      PROGRAMS.map(([name, how]) => [name, briefly(name, versionOf(name, how))]),
    ),
    load: os.loadavg()[0]?.toFixed(2) ?? '',
  };
}

/** @type {[string, string?][]} */
const PROGRAMS = [['git'], ['cp'], ['find'], ['tar'], ['rsync'], ['restic', 'version'], ['borg']];

/** @param {string} name @param {string | undefined} version */
function briefly(name, version) {
  if (version === undefined) return 'not here, so left out';
  const told = version.startsWith(`${name} `) ? version.slice(name.length + 1) : version;
  return told.trim().replace(/^version /, '');
}

/** @param {string} directory */
function fileSystem(directory) {
  try {
    const told = execFileSync('df', ['--output=fstype', directory], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return told.trim().split('\n').at(-1) ?? '';
  } catch {
    return 'unknown';
  }
}
