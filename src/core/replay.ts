import type { Change } from './change.js';
import { type DirectoryImage, type FileImage, type Image, sameBytes, sameImage } from './image.js';
import type { DiskState } from './plan-request.js';

/** What lets its owner list, change and pass through a directory. */
export const OWNER_ALL = 0o700;

/** Where a rewind that was cut off has left one path of its journal. */
export type ReplayState =
  /** It is as planned. */
  | 'done'
  /** It is as it was, or on its way. */
  | 'to-do'
  /** It is neither: somebody changed it after the crash. */
  | 'changed';

/**
 * Judges a path of a journal by what stands there now: doing what is to do once more is harmless, for
 * stored bytes never change.
 *
 * On its way is what an apply passes through: gone before its successor is in place; a directory that
 * was made and has no mode of its own yet, or was opened to its owner; an owner that is set and a mode
 * that is not; an inode that was being written in place. The last cannot be told from somebody's own
 * edit of that inode after the crash.
 */
export function judgeReplay({ before, after }: Change, disk: DiskState): ReplayState {
  const now = disk.image;
  if (sameImage(now, after)) return 'done';
  if (sameImage(now, before)) return 'to-do';
  if (now.kind === 'absent') {
    return before.kind === 'content' && after.kind === 'content' ? 'to-do' : 'changed';
  }
  if (now.kind !== 'content') return 'changed';
  if (after.kind === 'content' && sameBytes(now, after)) return 'to-do';
  if (isDirectory(now) && isDirectory(before) && now.mode === (before.mode | OWNER_ALL)) {
    return 'to-do';
  }
  return isWrittenInPlace(before, after) && isInode(disk, after) ? 'to-do' : 'changed';
}

function isDirectory(image: Image): image is DirectoryImage {
  return image.kind === 'content' && image.type === 'directory';
}

function isFile(image: Image): image is FileImage {
  return image.kind === 'content' && image.type === 'file';
}

function isWrittenInPlace(before: Image, after: Image): after is FileImage {
  return isFile(before) && isFile(after) && after.link !== '' && before.link === after.link;
}

function isInode({ stamp }: DiskState, { link }: FileImage): boolean {
  return stamp.startsWith(`${link}:`);
}
