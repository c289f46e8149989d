import fs from 'node:fs';
import { join } from 'node:path';
import type { Image, Sha256 } from '../core/image.js';
import { errnoWords, PreimageError } from '../core/problem.js';
import { type ByteString, toText } from '../core/relpath.js';
import { makePrivateDirectory, PRIVATE_FILE, writeAll, writeDurably } from '../files/durable.js';
import { showTurn } from './report.js';
import type { Workspace } from './workspace.js';

/** What an export wrote. */
export type Exported = { readonly files: number; readonly blobs: number; readonly bytes: number };

/**
 * Writes a turn's pre-images as a plain directory that needs no tool of ours: `index.json`, an array
 * with one turn, and `blobs/<sha256>`, uncompressed. The directory must not exist or be empty.
 */
export function exportTurn(workspace: Workspace, id: string, out: string): Exported {
  const report = showTurn(workspace, id);
  const blobs = join(out, 'blobs');
  prepare(out, blobs);
  const written = new Set<Sha256>();
  let bytes = 0;
  const files = report.files.map(({ path, before }) => {
    if (before.kind === 'content' && before.type === 'file' && !written.has(before.sha256)) {
      writeBlob(workspace, blobs, before.sha256);
      written.add(before.sha256);
      bytes += before.bytes;
    }
    const absolute = path === '' ? workspace.root : `${workspace.root}/${path}`;
    const { text, lossy } = toText(absolute);
    const pathBytes = lossy
      ? { pathBytes: Buffer.from(absolute, 'latin1').toString('base64') }
      : {};
    return { path: text, ...pathBytes, pre: preOf(before) };
  });
  const at = BigInt(Date.parse(report.at)) * 1_000_000n;
  // Nanoseconds are more than a double holds, so they are written into the JSON as digits.
  const head = `"turn":${JSON.stringify(report.turn)},"label":${JSON.stringify(report.label)}`;
  const json = `[{${head},"at":${at},"files":${JSON.stringify(files, null, 1)}}]`;
  writeDurably(join(out, 'index.json'), [Buffer.from(`${json}\n`, 'utf8')]);
  return { files: files.length, blobs: written.size, bytes };
}

function preOf(image: Image): unknown {
  if (image.kind === 'skipped') return { kind: 'skipped', reason: image.reason };
  if (image.kind === 'absent') return { kind: 'absent' };
  switch (image.type) {
    case 'file': {
      const { sha256, bytes, mode } = image;
      return { kind: 'content', type: 'file', sha256, bytes, mode: octal(mode) };
    }
    case 'symlink':
      return { kind: 'content', type: 'symlink', ...targetOf(image.target) };
    case 'fifo':
      return { kind: 'content', type: 'fifo', mode: octal(image.mode) };
    case 'directory':
      return { kind: 'content', type: 'directory', mode: octal(image.mode) };
  }
}

function targetOf(bytes: ByteString): { target: string; targetBytes?: string } {
  const { text, lossy } = toText(bytes);
  if (!lossy) return { target: text };
  return { target: text, targetBytes: Buffer.from(bytes, 'latin1').toString('base64') };
}

function octal(mode: number): string {
  return mode.toString(8).padStart(4, '0');
}

function prepare(out: string, blobs: string): void {
  try {
    makePrivateDirectory(out);
    if (fs.readdirSync(out).length === 0) {
      makePrivateDirectory(blobs);
      return;
    }
  } catch (error) {
    throw new PreimageError('usage', `Cannot export to ${out}: ${errnoWords(error)}.`, {
      hint: 'Give a directory that can be made or is empty.',
      cause: error,
    });
  }
  throw new PreimageError('usage', `${out} is not empty.`, {
    hint: 'Give a directory that does not exist yet: nothing of yours is written over.',
  });
}

function writeBlob({ packs }: Workspace, blobs: string, sha256: Sha256): void {
  const fd = fs.openSync(join(blobs, sha256), 'wx', PRIVATE_FILE);
  try {
    packs.copy(sha256, (piece) => {
      writeAll(fd, piece);
    });
  } finally {
    fs.closeSync(fd);
  }
}
