import fs from 'node:fs';
import { parentPort } from 'node:worker_threads';
import { ENTRY, KEY, KEY_FIELDS } from '../core/manifest-columns.js';
import { toNative } from '../files/native-path.js';
import type { LookAheadTask } from './look-ahead.js';

/*
 * The thread of `look-ahead.ts`. It knows only the baseline and marks what has not moved; trouble with
 * an entry leaves it unmarked.
 */

const OPTIONS = { bigint: true, throwIfNoEntry: false } as const;

parentPort?.on('message', (task: LookAheadTask) => {
  const names = Buffer.from(task.names.buffer, task.names.byteOffset, task.names.byteLength);
  const words = new Int32Array(task.keys.buffer, task.keys.byteOffset, task.keys.length * 2);
  const now = new BigInt64Array(KEY_FIELDS);
  const nowWords = new Int32Array(now.buffer);
  for (const directory of directoriesBackwards(task)) {
    const start = task.childStarts[directory] ?? 0;
    if (start <= (Atomics.load(task.frontier, 0) ?? 0)) return;
    const prefix = `${pathOf(task, names, directory)}/`;
    const end = start + (task.childCounts[directory] ?? 0);
    for (let index = end - 1; index >= start; index--) {
      if (hasSameKey(prefix + nameOf(task, names, index), index)) task.marks[index] = 1;
    }
  }

  function hasSameKey(path: string, index: number): boolean {
    let stat: fs.BigIntStats | undefined;
    try {
      stat = fs.lstatSync(toNative(path), OPTIONS);
    } catch {
      return false;
    }
    if (stat === undefined) return false;
    now[KEY.dev] = stat.dev;
    now[KEY.ino] = stat.ino;
    now[KEY.mode] = stat.mode;
    now[KEY.uid] = stat.uid;
    now[KEY.gid] = stat.gid;
    now[KEY.size] = stat.size;
    now[KEY.mtime] = stat.mtimeNs;
    now[KEY.ctime] = stat.ctimeNs;
    const row = index * KEY_FIELDS * 2;
    for (let i = 0; i < KEY_FIELDS * 2; i++) if (words[row + i] !== nowWords[i]) return false;
    return true;
  }
});

/** Lists the directories that have entries, by where those stand, the last first. */
function directoriesBackwards(task: LookAheadTask): number[] {
  const found: number[] = [];
  for (let i = 0; i < task.entries; i++) {
    if (task.types[i] === ENTRY.directory && (task.childCounts[i] ?? 0) > 0) found.push(i);
  }
  return found.sort((a, b) => (task.childStarts[b] ?? 0) - (task.childStarts[a] ?? 0));
}

function nameOf({ nameStarts, nameLengths }: LookAheadTask, names: Buffer, index: number): string {
  const start = nameStarts[index] ?? 0;
  return names.toString('latin1', start, start + (nameLengths[index] ?? 0));
}

function pathOf(task: LookAheadTask, names: Buffer, index: number): string {
  if (index === 0) return task.root;
  return `${pathOf(task, names, task.parents[index] ?? 0)}/${nameOf(task, names, index)}`;
}
