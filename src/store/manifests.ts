import crypto from 'node:crypto';
import fs from 'node:fs';
import { join } from 'node:path';
import type { Manifest } from '../core/manifest.js';
import { decodeManifest, encodeManifest } from '../core/manifest-codec.js';
import { isErrno, PreimageError } from '../core/problem.js';
import { syncDirectory, writeWhole } from '../files/durable.js';
import { GRACE_MS, renewAge, sweep } from './sweep.js';

/**
 * Writes a manifest under the hash of its bytes and gives that hash. It is not durable yet: as a
 * baseline it only saves work; see {@link syncManifest} for when a step is to begin from it.
 */
export function writeManifest(directory: string, manifest: Manifest): string {
  const runs = encodeManifest(manifest);
  const hash = crypto.createHash('sha256');
  for (const run of runs) hash.update(run);
  const id = hash.digest('hex');
  const path = join(directory, id);
  if (!renewAge(path)) writeWhole(path, runs);
  return id;
}

/** Makes a manifest durable, whoever wrote it: before the log says that a step begins from it. */
export function syncManifest(directory: string, id: string): void {
  const fd = fs.openSync(join(directory, id), 'r+');
  try {
    fs.fsyncSync(fd);
  } finally {
    fs.closeSync(fd);
  }
  syncDirectory(directory);
}

/** Loads a manifest and checks it against its name; `missing` where there is none. */
export function readManifest(directory: string, id: string): Manifest | 'missing' {
  const path = join(directory, id);
  let fd: number;
  try {
    fd = fs.openSync(path, 'r');
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return 'missing';
    throw error;
  }
  try {
    const size = fs.fstatSync(fd).size;
    // A buffer of its own, so that the columns of 64-bit fields are aligned in it; shared, so that the
    // threads of a scan read it where it lies.
    const file = new SharedArrayBuffer(size);
    const bytes = Buffer.from(file);
    let done = 0;
    while (done < size) {
      const count = fs.readSync(fd, bytes, done, size - done, done);
      if (count === 0) break;
      done += count;
    }
    if (crypto.hash('sha256', bytes, 'hex') !== id) {
      throw new PreimageError('damaged', `The manifest ${path} is not what was written.`);
    }
    return decodeManifest(file);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new PreimageError('damaged', `The manifest ${path} cannot be read: ${error.message}.`);
  } finally {
    fs.closeSync(fd);
  }
}

/**
 * Removes manifests that nobody names.
 *
 * RACE: a step that is just opening has written its manifest and not yet named it in the log. Deleting
 * only old ones leaves it an hour.
 */
export function sweepManifests(directory: string, named: ReadonlySet<string>): void {
  sweep(directory, named, Date.now() - GRACE_MS);
}
