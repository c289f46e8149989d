import crypto from 'node:crypto';
import fs from 'node:fs';
import type { Snapshot } from '../support/tree.js';

/** What stands at a path, read by `lstat`, `readlink` and `readFile` alone. */
export type Standing =
  | (Owned & { readonly kind: 'file'; readonly data: string; readonly inode: string } & Links)
  | (Owned & { readonly kind: 'directory' })
  | (Owned & { readonly kind: 'fifo' })
  | (Owned & { readonly kind: 'symlink'; readonly target: string });

type Owned = {
  readonly mode: number;
  readonly owner: string;
  /** Stat key as text: tells whether anybody laid a hand on it since. */
  readonly stamp: string;
};
type Links = { readonly links: number; readonly mtime: bigint };

/** A tree at one moment: path below the root as a byte string (latin1), the root itself `''`. */
export type Disk = ReadonlyMap<string, Standing>;

/** Reads a tree into memory. */
export function readDisk(root: string): Disk {
  const disk = new Map<string, Standing>();
  const visit = (path: string): void => {
    const at = absolute(root, path);
    const stat = fs.lstatSync(at, { bigint: true });
    const { dev, ino, uid, gid, size, mtimeNs, ctimeNs } = stat;
    const owned = {
      mode: Number(stat.mode) & 0o7777,
      owner: `${uid}:${gid}`,
      stamp: [dev, ino, stat.mode, uid, gid, size, mtimeNs, ctimeNs].join(':'),
    };
    if (stat.isSymbolicLink()) {
      disk.set(path, { ...owned, kind: 'symlink', target: fs.readlinkSync(at, 'latin1') });
    } else if (stat.isFile()) {
      const data = fs.readFileSync(at, 'latin1');
      const links = { inode: `${dev}:${ino}`, links: Number(stat.nlink), mtime: mtimeNs };
      disk.set(path, { ...owned, kind: 'file', data, ...links });
    } else if (stat.isFIFO()) {
      disk.set(path, { ...owned, kind: 'fifo' });
    } else {
      disk.set(path, { ...owned, kind: 'directory' });
      const names = fs.readdirSync(at, 'latin1').sort();
      for (const name of names) visit(path === '' ? name : `${path}/${name}`);
    }
  };
  visit('');
  return disk;
}

/** Describes a tree in memory as `snapshot()` describes one on disk. */
export function describeDisk(disk: ReadonlyMap<string, Described>): Snapshot {
  const out: Snapshot = {};
  for (const [path, standing] of disk) out[path === '' ? '.' : path] = describe(standing);
  return out;
}

/** As much of {@link Standing} as a description needs. */
export type Described =
  | { readonly kind: 'file'; readonly data: string; readonly mode: number; readonly owner: string }
  | { readonly kind: 'directory'; readonly mode: number; readonly owner: string }
  | { readonly kind: 'fifo'; readonly mode: number; readonly owner: string }
  | { readonly kind: 'symlink'; readonly target: string; readonly owner: string };

function describe(standing: Described): string {
  const { owner } = standing;
  if (standing.kind === 'symlink') return `link ${standing.target} ${owner}`;
  const mode = standing.mode.toString(8).padStart(4, '0');
  if (standing.kind === 'directory') return `directory ${mode} ${owner}`;
  if (standing.kind === 'fifo') return `special ${mode} ${owner}`;
  const bytes = Buffer.from(standing.data, 'latin1');
  const hash = crypto.createHash('sha256').update(bytes).digest('hex');
  return `file ${mode} ${owner} ${bytes.length} ${hash}`;
}

/** Joins a root and a byte string for Node's calls. */
export function absolute(root: string, path: string): Buffer {
  return Buffer.concat([Buffer.from(`${root}/`), Buffer.from(path, 'latin1')]);
}

/** Lists a path's parents, the root first. */
export function parentsOf(path: string): string[] {
  if (path === '') return [];
  const parts = path.split('/').slice(0, -1);
  return ['', ...parts.map((_, i) => parts.slice(0, i + 1).join('/'))];
}

/** Reports whether a path lies strictly below a directory. */
export function isBelow(path: string, directory: string): boolean {
  return path !== directory && (directory === '' || path.startsWith(`${directory}/`));
}
