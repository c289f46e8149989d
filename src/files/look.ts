import fs from 'node:fs';
import type { ContentSink } from '../core/content-sink.js';
import { ABSENT, type FileImage, type Image, type Sha256 } from '../core/image.js';
import type { DiskState } from '../core/plan.js';
import { errnoWords, isErrno } from '../core/problem.js';
import type { ByteString, RelPath } from '../core/relpath.js';
import { readStable } from './stable-read.js';
import { lstat, permissionsOf, type Stat, specialName, stampOf } from './stat.js';
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
    return { image: ABSENT, stamp: '', entries: [], parent: spot };
  }
  const parent = { kind: 'directory' } as const;
  let stat: Stat | 'absent';
  try {
    stat = lstat(spot.path);
  } catch (error) {
    return { image: unreadable(error), stamp: '', entries: [], parent };
  }
  if (stat === 'absent') return { image: ABSENT, stamp: '', entries: [], parent };
  const entries = stat.isDirectory() ? listEntries(tree, path) : [];
  if (!Array.isArray(entries)) return { image: entries, stamp: stampOf(stat), entries: [], parent };
  if (stat.isFile()) {
    const known = typeof how === 'function' ? how(path, stat) : 'unknown';
    if (known !== 'unknown') return { image: known, stamp: stampOf(stat), entries, parent };
    const sink = typeof how === 'function' ? 'hash-only' : how;
    return { ...lookAtFile(spot, stat, sink), entries, parent };
  }
  return { image: imageOf(spot, stat), stamp: stampOf(stat), entries, parent };
}

type ReachedSpot = Extract<Spot, { kind: 'spot' }>;

function imageOf(spot: ReachedSpot, stat: Stat): Image {
  const owned = { kind: 'content', uid: Number(stat.uid), gid: Number(stat.gid) } as const;
  if (stat.isDirectory()) return { ...owned, type: 'directory', mode: permissionsOf(stat) };
  if (stat.isSymbolicLink()) {
    try {
      return { ...owned, type: 'symlink', target: fs.readlinkSync(spot.path, 'latin1') };
    } catch (error) {
      return unreadable(error, stampOf(stat));
    }
  }
  return {
    kind: 'skipped',
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
      const image = { kind: 'skipped', reason: 'it changed while it was read', stamp: '' } as const;
      return { image, stamp: '' };
    }
    case 'skipped': {
      const stamp = stampOf(stat);
      return { image: { kind: 'skipped', reason: result.reason, stamp }, stamp };
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
  };
}

/** Lists a directory through its own descriptor, so that a link that took its place is not followed. */
function listEntries(tree: Tree, path: RelPath): ByteString[] | Image {
  try {
    const directory = tree.directory(path);
    if (directory.kind === 'directory') return fs.readdirSync(directory.self, 'latin1');
    return { kind: 'skipped', reason: 'it changed while it was read', stamp: '' };
  } catch (error) {
    return unreadable(error);
  }
}

function unreadable(error: unknown, stamp = ''): Image {
  if (!isErrno(error, 'EACCES', 'EPERM', 'EIO', 'ELOOP', 'ENOTDIR', 'ENOENT', 'ESTALE'))
    throw error;
  return { kind: 'skipped', reason: `it cannot be read: ${errnoWords(error)}`, stamp };
}
