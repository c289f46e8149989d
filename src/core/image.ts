import type { Attributes } from './attributes.js';
import type { ByteString } from './relpath.js';

/** SHA-256 of a file's bytes: 64 lower-case hexadecimal digits. */
export type Sha256 = string;

/** What stands at a path at one moment. */
export type Image = Absent | Content | Skipped;

/** Proven to be nothing there: only this lets a rewind delete. */
export type Absent = { readonly kind: 'absent' };

/** What can be put back exactly. */
export type Content = FileImage | SymlinkImage | DirectoryImage | FifoImage;

type Owned = { readonly kind: 'content'; readonly uid: number; readonly gid: number };

/** Attributes of what has permission bits; the field is missing where they were not recorded. */
type Attributed = { readonly attributes?: Attributes };

/**
 * A regular file; `mode` are the twelve permission bits, `mtimeNs` nanoseconds since the epoch.
 *
 * `link` tells the inode (`device:inode`) where the file had several names, so that a rewind makes them
 * names of one file again; `''` where it had one. `sparse` files had holes.
 */
export type FileImage = Owned &
  Attributed & {
    readonly type: 'file';
    readonly sha256: Sha256;
    readonly bytes: number;
    readonly mode: number;
    readonly mtimeNs: bigint;
    readonly link: string;
    readonly sparse: boolean;
  };

/** A symbolic link; its target are the very bytes, whether or not they lead anywhere. */
export type SymlinkImage = Owned & { readonly type: 'symlink'; readonly target: ByteString };

/** A directory by itself; what is in it has images of its own. */
export type DirectoryImage = Owned &
  Attributed & { readonly type: 'directory'; readonly mode: number };

/** A named pipe; what is in it while it is open is no part of it. */
export type FifoImage = Owned & Attributed & { readonly type: 'fifo'; readonly mode: number };

/**
 * Something stands there (or may stand there) that was not captured.
 *
 * `stamp` is the stat key as text where `lstat` worked, `''` elsewhere: two skipped images with the
 * same stamp are the same thing untouched; with no stamp nothing can be said.
 */
export type Skipped = {
  readonly kind: 'skipped';
  readonly why: SkipCause;
  readonly reason: string;
  readonly stamp: string;
  /** A file over the size limit of whose inode the store holds a name. */
  readonly linked?: boolean;
};

/** Why something was not captured: by a rule, for its size or for want of time, or it cannot be read. */
export type SkipCause = 'left-out' | 'too-large' | 'over-budget' | 'unreadable';

/** The one absent image. */
export const ABSENT: Absent = { kind: 'absent' };

/** Twelve permission bits: set-user-id, set-group-id, sticky and rwx three times. */
export const PERMISSIONS = 0o7777;

/**
 * Reports whether two images are the same state: kind, type, bytes, permission bits, owner, link
 * target, and attributes where both have them recorded. Times do not count: a turn that only touched a
 * file changed nothing that a rewind restores. Nor do links and holes: what was not written anew still
 * has them.
 */
export function sameImage(a: Image, b: Image): boolean {
  switch (a.kind) {
    case 'absent':
      return b.kind === 'absent';
    case 'skipped':
      return b.kind === 'skipped' && hasStamp(a, b.stamp);
    case 'content':
      return b.kind === 'content' && sameBytes(a, b) && sameMetadata(a, b);
  }
}

/** Reports whether two contents have the same type and the same bytes or target. */
export function sameBytes(a: Content, b: Content): boolean {
  switch (a.type) {
    case 'file':
      return b.type === 'file' && a.sha256 === b.sha256;
    case 'symlink':
      return b.type === 'symlink' && a.target === b.target;
    case 'directory':
      return b.type === 'directory';
    case 'fifo':
      return b.type === 'fifo';
  }
}

/** Gives the attributes that a content carries; undefined where they were not recorded. */
export function attributesOf(image: Image): Attributes | undefined {
  return image.kind === 'content' && image.type !== 'symlink' ? image.attributes : undefined;
}

/**
 * Reports whether what was skipped still stands untouched, by its stamp.
 *
 * Where the store holds a name of the file's inode the ctime does not count: such names come and go,
 * and that moves it.
 */
export function hasStamp(skipped: Skipped, stamp: string): boolean {
  if (skipped.stamp === '' || stamp === '') return false;
  if (skipped.linked !== true) return skipped.stamp === stamp;
  return withoutCtime(skipped.stamp) === withoutCtime(stamp);
}

/**
 * Reports whether what could not be read stands as it was, but for what a rewind does to read it: its
 * owner's right to read comes and goes, and that moves the ctime.
 */
export function isAsSkipped(skipped: Skipped, stamp: string): boolean {
  if (hasStamp(skipped, stamp)) return true;
  if (skipped.why !== 'unreadable' || skipped.stamp === '' || stamp === '') return false;
  return asLent(skipped.stamp) === asLent(stamp);
}

const OWNER_READ = 0o400;

function asLent(stamp: string): string {
  const [dev, ino, mode, ...rest] = withoutCtime(stamp).split(':');
  return [dev, ino, Number(mode) | OWNER_READ, ...rest].join(':');
}

function withoutCtime(stamp: string): string {
  return stamp.slice(0, stamp.lastIndexOf(':'));
}

/** Gives the permission bits that a content carries; links have none of their own. */
function modeOf(content: Content): number | 'none' {
  return content.type === 'symlink' ? 'none' : content.mode;
}

function sameMetadata(a: Content, b: Content): boolean {
  return a.uid === b.uid && a.gid === b.gid && modeOf(a) === modeOf(b) && hasSameAttributes(a, b);
}

function hasSameAttributes(a: Content, b: Content): boolean {
  const [ours, theirs] = [attributesOf(a), attributesOf(b)];
  return ours === undefined || theirs === undefined || ours === theirs;
}
