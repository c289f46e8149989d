import fs from 'node:fs';
import type { ContentSink } from '../core/content-sink.js';
import { ABSENT, type FileImage, type Image, type Sha256 } from '../core/image.js';
import type { DiskState } from '../core/plan-request.js';
import { errnoWords, isErrno } from '../core/problem.js';
import type { ByteString, RelPath } from '../core/relpath.js';
import { readStable } from './stable-read.js';
import { isSparse, linkOf, lstat, permissionsOf, type Stat, specialName, stampOf } from './stat.js';
import { type Spot, spotOf, type Tree } from './tree.js';

/** Knows the image of a file that was looked at without reading it, or does not. */
export type KnownFile = (path: RelPath, stat: Stat) => FileImage | 'unknown';

/**
 * What stands at one path, looked at by itself. `how` is where its bytes go: into a sink, nowhere
 * (`hash-only`), or nowhere and without reading it where a function knows it already.
 */
export function lookAt(
  tree: Tree,
  path: RelPath,
  how: ContentSink | 'hash-only' | KnownFile,
): DiskState {
  const spot = spotOf(tree, path);
  if (spot.kind !== 'spot') {
    if (spot.kind !== 'unreachable') {
      return { image: ABSENT, stamp: '', links: 1, entries: [], parent: spot };
    }
    // Nobody can say what is behind a closed directory: not that nothing is.
    const image = { kind: 'skipped', why: 'unreadable', reason: spot.reason, stamp: '' } as const;
    const parent = { kind: 'blocked', by: spot.at } as const;
    return { image, stamp: '', links: 1, entries: [], parent };
  }
  const parent = { kind: 'directory' } as const;
  let stat: Stat | 'absent';
  try {
    stat = lstat(spot.path);
  } catch (error) {
    return { image: unreadable(error), stamp: '', links: 1, entries: [], parent };
  }
  if (stat === 'absent') return { image: ABSENT, stamp: '', links: 1, entries: [], parent };
  const stamp = stampOf(stat);
  if (stat.isDirectory()) {
    const entries = listEntries(tree, path);
    return { image: imageOf(spot, stat), stamp, links: 1, entries, parent };
  }
  const links = stat.isFile() ? Number(stat.nlink) : 1;
  if (!stat.isFile()) return { image: imageOf(spot, stat), stamp, links, entries: [], parent };
  const known = typeof how === 'function' ? how(path, stat) : 'unknown';
  if (known !== 'unknown') return { image: known, stamp, links, entries: [], parent };
  const sink = typeof how === 'function' ? 'hash-only' : how;
  return { ...lookAtFile(spot, stat, sink), links, entries: [], parent };
}

type ReachedSpot = Extract<Spot, { kind: 'spot' }>;

function imageOf(spot: ReachedSpot, stat: Stat): Image {
  const owned = { kind: 'content', uid: Number(stat.uid), gid: Number(stat.gid) } as const;
  if (stat.isDirectory()) return { ...owned, type: 'directory', mode: permissionsOf(stat) };
  if (stat.isFIFO()) return { ...owned, type: 'fifo', mode: permissionsOf(stat) };
  if (stat.isSymbolicLink()) {
    try {
      return { ...owned, type: 'symlink', target: fs.readlinkSync(spot.path, 'latin1') };
    } catch (error) {
      // RACE: something that is no link took its place since it was looked at.
      if (isErrno(error, 'EINVAL')) return CHANGED_MEANWHILE;
      return unreadable(error, stampOf(stat));
    }
  }
  return {
    kind: 'skipped',
    why: 'unreadable',
    reason: `${specialName(stat)} is not captured`,
    stamp: stampOf(stat),
  };
}

function lookAtFile(
  spot: ReachedSpot,
  stat: Stat,
  sink: ContentSink | 'hash-only',
): Pick<DiskState, 'image' | 'stamp'> {
  const result = readStable(spot.path, sink);
  switch (result.kind) {
    case 'gone': {
      const image = {
        kind: 'skipped',
        why: 'unreadable',
        reason: 'it changed while it was read',
        stamp: '',
      } as const;
      return { image, stamp: '' };
    }
    case 'skipped': {
      const stamp = stampOf(stat);
      return { image: { kind: 'skipped', why: 'unreadable', reason: result.reason, stamp }, stamp };
    }
    case 'read':
      return { image: fileImage(result.sha256, result.stat), stamp: stampOf(result.stat) };
  }
}

/** Makes the image of a file that was read. */
function fileImage(sha256: Sha256, stat: Stat): FileImage {
  return {
    kind: 'content',
    type: 'file',
    sha256,
    bytes: Number(stat.size),
    mode: permissionsOf(stat),
    uid: Number(stat.uid),
    gid: Number(stat.gid),
    mtimeNs: stat.mtimeNs,
    link: linkOf(stat),
    sparse: isSparse(stat),
  };
}

/** Lists a directory through its own descriptor, so that a link that took its place is not followed. */
function listEntries(tree: Tree, path: RelPath): ByteString[] | 'unknown' {
  try {
    const directory = tree.directory(path);
    return directory.kind === 'directory' ? fs.readdirSync(directory.self, 'latin1') : 'unknown';
  } catch (error) {
    if (isErrno(error, 'EACCES', 'EPERM', 'EIO', 'ENOENT', 'ENOTDIR', 'ESTALE')) return 'unknown';
    throw error;
  }
}

const CHANGED_MEANWHILE: Image = {
  kind: 'skipped',
  why: 'unreadable',
  reason: 'it changed while it was read',
  stamp: '',
};

function unreadable(error: unknown, stamp = ''): Image {
  if (!isErrno(error, 'EACCES', 'EPERM', 'EIO', 'ELOOP', 'ENOTDIR', 'ENOENT', 'ESTALE'))
    throw error;
  return {
    kind: 'skipped',
    why: 'unreadable',
    reason: `it cannot be read: ${errnoWords(error)}`,
    stamp,
  };
}
