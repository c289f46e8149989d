import fs from 'node:fs';
import { resolve } from 'node:path';
import { printable } from '../core/printable.js';
import { errnoWords, PreimageError } from '../core/problem.js';
import { fromText } from '../core/relpath.js';
import { writeWhole } from '../files/durable.js';

/**
 * Writes a report into a file of its owner's, whole or not at all. What stands there is left alone
 * unless `replace` is given, and then only a plain file is replaced: no link, no directory. Throws
 * `usage`.
 */
export function writeReport(
  out: string,
  pieces: Iterable<string>,
  { replace = false }: { readonly replace?: boolean } = {},
): void {
  const path = resolve(out);
  const stat = fs.lstatSync(path, { throwIfNoEntry: false });
  if (stat !== undefined && !stat.isFile()) {
    throw refusal(path, 'it is no plain file', 'Name a file that does not exist yet.');
  }
  if (stat !== undefined && !replace) {
    throw refusal(path, 'it exists already', 'Name another file, or replace it with --force.');
  }
  try {
    // RACE: a file made there since is replaced; nothing is written into it, nor through a link.
    writeWhole(path, encoded(pieces));
  } catch (error) {
    throw refusal(path, errnoWords(error), 'Name a file that can be written.', error);
  }
}

function encoded(pieces: Iterable<string>): Uint8Array[] {
  return [...pieces].map((piece) => Buffer.from(piece, 'utf8'));
}

function refusal(path: string, why: string, hint: string, cause?: unknown): PreimageError {
  const message = `Cannot write the report ${printable(fromText(path))}: ${why}.`;
  return new PreimageError('usage', message, { hint, cause });
}
