import fs from 'node:fs';
import type { FileImage } from '../core/image.js';
import { writeAll } from './durable.js';
import type { NativePath } from './native-path.js';
import {
  CHANGED,
  type Expected,
  type Fill,
  isExpected,
  type Placed,
  type Times,
  writeContent,
} from './place.js';

/**
 * Writes a file's content into the inode that stands, for it has names elsewhere.
 *
 * RACE: whoever reads it meanwhile sees old and new bytes mixed, and so does everyone after a crash
 * until the journal is replayed: there is no other way to keep names elsewhere on the same file.
 */
export function writeInPlace(
  path: NativePath,
  content: FileImage,
  options: { readonly fill: Fill; readonly expected: Expected; readonly times: Times },
): Placed {
  const fd = fs.openSync(path, fs.constants.O_WRONLY | (fs.constants.O_NOFOLLOW ?? 0));
  try {
    const stat = fs.fstatSync(fd, { bigint: true });
    if (!isExpected(stat, options.expected)) return CHANGED;
    growTo(fd, { content, fill: options.fill, from: Number(stat.size) });
    return writeContent(fd, { ...content, sparse: false }, { ...options, sync: true });
  } finally {
    fs.closeSync(fd);
  }
}

/** Writes first what goes beyond a file's end: where the disk is full, the file stays what it was. */
function growTo(
  fd: number,
  {
    content,
    fill,
    from,
  }: { readonly content: FileImage; readonly fill: Fill; readonly from: number },
): void {
  if (content.bytes <= from) return;
  let position = 0;
  try {
    fill((piece) => {
      const beyond = piece.subarray(Math.max(0, from - position));
      if (beyond.length > 0) writeAll(fd, beyond, position + piece.length - beyond.length);
      position += piece.length;
    });
  } catch (error) {
    fs.ftruncateSync(fd, from);
    throw error;
  }
}
