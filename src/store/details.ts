import crypto from 'node:crypto';
import fs from 'node:fs';
import { join } from 'node:path';
import type { Change } from '../core/change.js';
import { isErrno, PreimageError } from '../core/problem.js';
import { type ChangesRef, decodeChanges, encodeChanges } from '../core/records.js';
import { writeDurably } from '../files/durable.js';
import { renewAge } from './sweep.js';

/** Up to this many changes stand in the log's line itself. */
const INLINE_CHANGES = 16;

/** Stores changes durably, in the record itself where they are few. */
export function storeChanges(directory: string, changes: readonly Change[]): ChangesRef {
  if (changes.length <= INLINE_CHANGES) return { kind: 'inline', changes };
  const sha256 = writeDetail(directory, encodeChanges(changes));
  return { kind: 'detail', sha256, count: changes.length };
}

/** Loads changes. Throws `damaged` where they are missing or not what was written. */
export function loadChanges(directory: string, ref: ChangesRef): readonly Change[] {
  if (ref.kind === 'inline') return ref.changes;
  const changes = decodeChanges(readDetail(directory, ref.sha256));
  if ('invalid' in changes) throw damaged(join(directory, ref.sha256), changes.invalid);
  return changes;
}

/** Writes a text durably under its hash and gives that hash. */
export function writeDetail(directory: string, text: string): string {
  const bytes = Buffer.from(text, 'utf8');
  const sha256 = crypto.hash('sha256', bytes, 'hex');
  const path = join(directory, sha256);
  if (!renewAge(path)) writeDurably(path, [bytes]);
  return sha256;
}

/** Reads a text back and checks it against its hash. */
export function readDetail(directory: string, sha256: string): string {
  const path = join(directory, sha256);
  let bytes: Buffer;
  try {
    bytes = fs.readFileSync(path);
  } catch (error) {
    if (isErrno(error, 'ENOENT')) throw damaged(path, 'it is missing');
    throw error;
  }
  if (crypto.hash('sha256', bytes, 'hex') !== sha256) {
    throw damaged(path, 'it is not what was written');
  }
  return bytes.toString('utf8');
}

function damaged(path: string, what: string): PreimageError {
  return new PreimageError('damaged', `The store's file ${path} cannot be used: ${what}.`);
}
