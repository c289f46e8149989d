import fs from 'node:fs';
import { join } from 'node:path';
import type { Sha256 } from '../core/image.js';
import { isErrno } from '../core/problem.js';
import { makePrivateDirectory, writeDurably } from '../files/durable.js';

/**
 * Contents that damage has taken for good and that a repair has told: the history still names them,
 * and a rewind says which paths they are missing for. One line each.
 */
export function readLostContents(damaged: string): Set<Sha256> {
  try {
    const lines = fs.readFileSync(join(damaged, LOST_FILE), 'latin1').split('\n');
    return new Set(lines.filter((line) => /^[0-9a-f]{64}$/.test(line)));
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return new Set();
    throw error;
  }
}

/** Writes the list of contents that are lost for good. */
export function writeLostContents(damaged: string, contents: ReadonlySet<Sha256>): void {
  makePrivateDirectory(damaged);
  const text = [...contents].map((sha256) => `${sha256}\n`).join('');
  writeDurably(join(damaged, LOST_FILE), [Buffer.from(text, 'latin1')]);
}

const LOST_FILE = 'lost-contents';
