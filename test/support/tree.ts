import { spawnSync } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { onTestFinished } from 'vitest';

/** An entry of a literal tree: a text is a file. */
export type Entry = string | Buffer | Special | { readonly [name: string]: Entry };
type Special =
  | { readonly is: 'file'; readonly data: string | Buffer; readonly mode: number }
  | { readonly is: 'symlink'; readonly target: string }
  | { readonly is: 'directory'; readonly mode: number; readonly entries: Record<string, Entry> };

export const exec = (data: string): Entry => ({ is: 'file', data, mode: 0o755 });
export const file = (data: string | Buffer, mode: number): Entry => ({ is: 'file', data, mode });
export const symlink = (target: string): Entry => ({ is: 'symlink', target });
export const dir = (mode: number, entries: Record<string, Entry> = {}): Entry => ({
  is: 'directory',
  mode,
  entries,
});

/** Makes a temporary directory that goes when the test is over. Gives its real path. */
export function temporary(name = 'preimage-test'): string {
  const made = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), `${name}-`)));
  onTestFinished(() => {
    makeWritable(made);
    removeTree(made);
  });
  return made;
}

/** Makes a literal tree: `tree(root, { 'a.txt': 'old', 'bin/run': exec('…'), link: symlink('a.txt') })`. */
export function tree(root: string, entries: Record<string, Entry>): string {
  fs.mkdirSync(root, { recursive: true });
  for (const [name, entry] of Object.entries(entries)) make(path.join(root, name), entry);
  return root;
}

function make(at: string, entry: Entry): void {
  fs.mkdirSync(path.dirname(at), { recursive: true });
  if (typeof entry === 'string' || Buffer.isBuffer(entry)) {
    fs.writeFileSync(at, entry);
  } else if (isSpecial(entry)) {
    switch (entry.is) {
      case 'file':
        fs.writeFileSync(at, entry.data);
        fs.chmodSync(at, entry.mode);
        break;
      case 'symlink':
        fs.symlinkSync(entry.target, at);
        break;
      case 'directory':
        tree(at, entry.entries);
        fs.chmodSync(at, entry.mode);
        break;
    }
  } else {
    tree(at, entry);
  }
}

function isSpecial(entry: Entry): entry is Special {
  return typeof entry === 'object' && 'is' in entry && typeof entry.is === 'string';
}

/**
 * Describes a tree by means that are not ours: type, mode, owner, SHA-256 or link target of every path,
 * names as bytes (latin1), from `lstat` and `readFile` alone. Compare two with `toEqual`.
 */
export function snapshot(
  root: string,
  skip: (relative: string) => boolean = () => false,
): Snapshot {
  const seen: Snapshot = {};
  const walk = (at: Buffer, relative: string): void => {
    const stat = fs.lstatSync(at);
    const mode = (stat.mode & 0o7777).toString(8).padStart(4, '0');
    const owner = `${stat.uid}:${stat.gid}`;
    if (stat.isDirectory()) {
      seen[relative] = `directory ${mode} ${owner}`;
      for (const name of fs.readdirSync(at, 'buffer')) {
        const below = relative === '.' ? '' : `${relative}/`;
        const child = `${below}${name.toString('latin1')}`;
        if (!skip(child)) walk(Buffer.concat([at, Buffer.from('/'), name]), child);
      }
    } else if (stat.isSymbolicLink()) {
      seen[relative] = `link ${fs.readlinkSync(at, 'buffer').toString('latin1')} ${owner}`;
    } else if (stat.isFile()) {
      const hash = crypto.createHash('sha256').update(fs.readFileSync(at)).digest('hex');
      seen[relative] = `file ${mode} ${owner} ${stat.size} ${hash}`;
    } else {
      seen[relative] = `special ${mode} ${owner}`;
    }
  };
  walk(Buffer.from(root), '.');
  return seen;
}

/** What {@link snapshot} gives: path to description. */
export type Snapshot = Record<string, string>;

/** Removes a tree; one that is too deep for Node's own removal goes by the system's. */
function removeTree(at: string): void {
  try {
    fs.rmSync(at, { recursive: true, force: true, maxRetries: 5 });
  } catch (error) {
    if (spawnSync('rm', ['-rf', at]).status !== 0) throw error;
  }
}

/** Gives the owner back what a test has taken; whoever is root needs none of it. */
function makeWritable(at: string): void {
  if (process.getuid === undefined || process.getuid() === 0) return;
  spawnSync('chmod', ['-R', 'u+rwX', at]);
}
