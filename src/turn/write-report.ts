import fs from 'node:fs';
import { dirname, resolve } from 'node:path';
import { printable } from '../core/printable.js';
import { errnoWords, PreimageError } from '../core/problem.js';
import { type ByteString, fromText } from '../core/relpath.js';
import { writeWhole } from '../files/durable.js';
import type { Workspace } from './workspace.js';

/** How a report is written. */
export type WriteReportOptions = {
  /** Replaces a plain file that stands there; a link or a directory never. */
  readonly replace?: boolean;
};

/**
 * Writes a report into a file of its owner's, whole or not at all. Throws `usage` where something
 * stands there that is not to be replaced, where a link in the workspace leads out of it, and in the
 * store.
 */
export function writeReport(
  workspace: Workspace,
  out: string,
  report: { readonly pieces: Iterable<string> } & WriteReportOptions,
): void {
  const path = resolve(out);
  refuseOutside(workspace, path);
  const stat = fs.lstatSync(path, { throwIfNoEntry: false });
  if (stat !== undefined && !stat.isFile()) {
    throw refusal(path, 'it is no plain file', NAME_ANOTHER);
  }
  if (stat !== undefined && report.replace !== true) {
    throw refusal(path, 'it exists already', 'Name another file, or replace it with --force.');
  }
  const runs = [...report.pieces].map((piece) => Buffer.from(piece, 'utf8'));
  try {
    // RACE: a file made there since is replaced; nothing is written into it, nor through a link.
    writeWhole(path, runs);
  } catch (error) {
    throw refusal(path, errnoWords(error), 'Name a file that can be written.', error);
  }
}

const NAME_ANOTHER = 'Name a file that does not exist yet.';

/** Somebody who names a file in the workspace does not mean where a link in it leads. */
function refuseOutside({ root, layout }: Workspace, path: string): void {
  let parent: ByteString;
  try {
    parent = fs.realpathSync.native(dirname(path), 'buffer').toString('latin1');
  } catch (error) {
    throw refusal(path, errnoWords(error), 'Name a file in a directory that exists.', error);
  }
  if (isBelow(fromText(path), root) && !isBelow(`${parent}/`, root)) {
    throw refusal(path, 'a link leads out of the workspace', 'Name the place itself.');
  }
  if (isBelow(`${parent}/`, fromText(layout.directory))) {
    throw refusal(path, 'it is in the store', NAME_ANOTHER);
  }
}

function isBelow(path: ByteString, directory: ByteString): boolean {
  return path.startsWith(directory.endsWith('/') ? directory : `${directory}/`);
}

function refusal(path: string, why: string, hint: string, cause?: unknown): PreimageError {
  const message = `Cannot write the report ${printable(fromText(path))}: ${why}.`;
  return new PreimageError('usage', message, { hint, cause });
}
