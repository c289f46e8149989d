import fs from 'node:fs';
import type { ProcessIdentity } from '../core/records.js';

/** Tells this process from any other, a later one with the same pid included. */
export function ownIdentity(): ProcessIdentity {
  return { pid: process.pid, start: startOf(process.pid), boot: bootId() };
}

/**
 * Reports whether a process is still the one that was meant: same run of the machine, same pid, same
 * start time. Where the system tells no start time, a live pid counts.
 */
export function isAlive({ pid, start, boot }: ProcessIdentity): boolean {
  const here = bootId();
  // Where our own cannot be read (no descriptor left), it proves nothing.
  if (boot !== '' && here !== '' && boot !== here) return false;
  if (!isPidInUse(pid)) return false;
  const now = startOf(pid);
  return start === '' || now === '' ? true : now === start;
}

/** Reports whether any process has this pid now; a later one with the same pid counts. */
export function isPidInUse(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: it is there, of another user.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

let knownBoot = '';

function bootId(): string {
  if (knownBoot === '') knownBoot = readText('/proc/sys/kernel/random/boot_id').trim();
  return knownBoot;
}

/** Reads the start time in clock ticks since boot: field 22 of /proc/PID/stat (proc(5)). */
function startOf(pid: number): string {
  const stat = readText(`/proc/${pid}/stat`);
  // The second field is a name in parentheses that may hold anything: count from its end.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const state = fields[0] ?? '';
  return state === 'Z' || state === 'X' ? 'ended' : (fields[19] ?? '');
}

function readText(path: string): string {
  try {
    return fs.readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
