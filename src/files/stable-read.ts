import crypto from 'node:crypto';
import fs from 'node:fs';
import type { ContentSink } from '../core/content-sink.js';
import type { Sha256 } from '../core/image.js';
import { errnoWords, isErrno, isShortage } from '../core/problem.js';
import type { NativePath } from './native-path.js';
import { lstat, type Stat, sameStat } from './stat.js';

/** What came of reading a file: its hash with the stat key it belongs to, or why there is none. */
export type ReadResult =
  | { readonly kind: 'read'; readonly sha256: Sha256; readonly stat: Stat }
  | { readonly kind: 'skipped'; readonly reason: string }
  /** It is gone, or is no regular file any more. */
  | { readonly kind: 'gone' };

/** How often a file that changes under the reader is tried again. */
const READ_TRIES = 3;

/** Files up to this many bytes are read in one piece into a buffer that is used again. */
const WHOLE_BYTES = 4 * 1024 * 1024;
const CHUNK_BYTES = 1024 * 1024;

/**
 * Hashes a regular file without following links or blocking, and puts its bytes into the sink if
 * they are not there yet. What was opened and what the path leads to after reading must agree, so the
 * hash belongs to the stat key that is returned.
 */
export function readStable(path: NativePath, sink: ContentSink | 'hash-only'): ReadResult {
  for (let tries = 0; tries < READ_TRIES; tries++) {
    const result = tryRead(path, sink);
    if (result !== 'changed') return result;
  }
  return { kind: 'skipped', reason: 'it changed while it was read' };
}

// O_NONBLOCK: a fifo that took the file's place must not hang us. Both are missing on Windows.
const READ_FLAGS =
  fs.constants.O_RDONLY | (fs.constants.O_NOFOLLOW ?? 0) | (fs.constants.O_NONBLOCK ?? 0);

function tryRead(path: NativePath, sink: ContentSink | 'hash-only'): ReadResult | 'changed' {
  let fd: number;
  try {
    fd = fs.openSync(path, READ_FLAGS);
  } catch (error) {
    // ELOOP: a link took its place; ENXIO: a socket or a fifo did.
    if (isErrno(error, 'ENOENT', 'ENOTDIR', 'ELOOP', 'ENXIO')) return { kind: 'gone' };
    // Not this file's trouble: every other one would be skipped as well, and nobody would know.
    if (isShortage(error)) throw error;
    return { kind: 'skipped', reason: `it cannot be read: ${errnoWords(error)}` };
  }
  try {
    const before = fs.fstatSync(fd, { bigint: true });
    if (!before.isFile()) return { kind: 'gone' };
    const unchanged = (): boolean => {
      // Where the path still leads to the inode that was read, this says all that its descriptor would.
      const now = lstat(path);
      return now !== 'absent' && sameStat(before, now);
    };
    return before.size <= WHOLE_BYTES
      ? readWhole({ fd, before, unchanged }, sink)
      : readPieces({ fd, before, unchanged }, sink);
  } catch (error) {
    if (isErrno(error, 'EISDIR')) return { kind: 'gone' };
    if (isErrno(error, 'EIO', 'EACCES', 'EPERM', 'ESTALE')) {
      return { kind: 'skipped', reason: `it cannot be read: ${errnoWords(error)}` };
    }
    throw error;
  } finally {
    fs.closeSync(fd);
  }
}

type OpenFile = {
  readonly fd: number;
  readonly before: Stat;
  readonly unchanged: () => boolean;
};

let whole = Buffer.allocUnsafeSlow(64 * 1024);

function readWhole(file: OpenFile, sink: ContentSink | 'hash-only'): ReadResult | 'changed' {
  const size = Number(file.before.size);
  if (whole.length <= size) whole = Buffer.allocUnsafeSlow(Math.min(2 * size, WHOLE_BYTES) + 1);
  // One byte more than the size: a file that grew shows itself.
  let length = 0;
  while (length <= size) {
    const count = fs.readSync(file.fd, whole, length, size + 1 - length, null);
    length += count;
    // Less than was asked for is the end of a regular file (read(2)); whether it is, is asked below.
    if (count === 0 || length === size) break;
  }
  if (length !== size) return 'changed';
  const bytes = whole.subarray(0, size);
  const sha256 = crypto.hash('sha256', bytes, 'hex');
  if (!file.unchanged()) return 'changed';
  if (sink !== 'hash-only' && !sink.has(sha256)) sink.put(sha256, bytes);
  return { kind: 'read', sha256, stat: file.before };
}

function readPieces(file: OpenFile, sink: ContentSink | 'hash-only'): ReadResult | 'changed' {
  const hash = crypto.createHash('sha256');
  const stream = sink === 'hash-only' ? undefined : sink.stream();
  const chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES);
  try {
    let length = 0n;
    for (;;) {
      const count = fs.readSync(file.fd, chunk, 0, CHUNK_BYTES, null);
      if (count === 0) break;
      length += BigInt(count);
      if (length > file.before.size) break;
      const bytes = chunk.subarray(0, count);
      hash.update(bytes);
      stream?.write(bytes);
    }
    if (length !== file.before.size || !file.unchanged()) {
      stream?.abort();
      return 'changed';
    }
    const sha256 = hash.digest('hex');
    if (sink !== 'hash-only' && sink.has(sha256)) stream?.abort();
    else stream?.commit(sha256);
    return { kind: 'read', sha256, stat: file.before };
  } catch (error) {
    stream?.abort();
    throw error;
  }
}
