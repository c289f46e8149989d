import crypto from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import { join } from 'node:path';
import { closeTurn, openHook } from './hooks.js';
import { openStore } from './store.js';

/** What came of a try. */
export type Canary = {
  readonly rewind:
    | { readonly kind: 'same'; readonly paths: number }
    | { readonly kind: 'differs'; readonly what: string };
  /** `reason` is empty where it saw everything. */
  readonly watcher: { readonly name: string; readonly reason: string };
};

/**
 * Tries a whole turn in a temporary directory with a store of its own: changes files in every way,
 * rewinds, and compares by `lstat` and SHA-256, by no means that a rewind uses.
 */
export async function canary(): Promise<Canary> {
  const base = fs.realpathSync(fs.mkdtempSync(join(os.tmpdir(), 'preimage-doctor-')));
  try {
    return await tryTurn(join(base, 'workspace'), join(base, 'store'));
  } catch (error) {
    const what = error instanceof Error ? error.message : String(error);
    return { rewind: { kind: 'differs', what }, watcher: { name: 'none', reason: 'not tried' } };
  } finally {
    fs.rmSync(base, { recursive: true, force: true, maxRetries: 5 });
  }
}

async function tryTurn(root: string, store: string): Promise<Canary> {
  const which = { root, store, cwd: root };
  fill(root);
  const before = describe(root);
  await openHook({ ...which, turn: 'canary' });
  change(root);
  const { record } = await closeTurn({ ...which, turn: 'canary' });
  const { watcher, complete, reason } = record.timeline;
  const history = openStore(which);
  const { outcomes } = await history.rewind({ turn: 'canary' });
  history.close();
  const after = describe(root);
  const wrong = [...new Set([...before.keys(), ...after.keys()])].filter(
    (path) => before.get(path) !== after.get(path),
  );
  return {
    rewind:
      wrong.length === 0 && outcomes.length > 0
        ? { kind: 'same', paths: outcomes.length }
        : { kind: 'differs', what: wrong.join(', ') || 'no change was seen' },
    watcher: { name: watcher, reason: complete ? '' : reason },
  };
}

function fill(root: string): void {
  fs.mkdirSync(join(root, 'directory', 'empty'), { recursive: true });
  fs.writeFileSync(join(root, 'edited.txt'), 'old\n');
  fs.writeFileSync(join(root, 'removed.bin'), crypto.randomBytes(10_000));
  fs.writeFileSync(join(root, 'mode.sh'), '#!/bin/sh\n', { mode: 0o755 });
  fs.writeFileSync(join(root, 'directory', 'moved.txt'), 'moved\n');
  fs.symlinkSync('edited.txt', join(root, 'link'));
}

function change(root: string): void {
  fs.writeFileSync(join(root, 'edited.txt'), 'new\n');
  fs.rmSync(join(root, 'removed.bin'));
  fs.chmodSync(join(root, 'mode.sh'), 0o600);
  fs.renameSync(join(root, 'directory', 'moved.txt'), join(root, 'moved.txt'));
  fs.rmSync(join(root, 'directory'), { recursive: true });
  fs.rmSync(join(root, 'link'));
  fs.symlinkSync('mode.sh', join(root, 'link'));
  fs.writeFileSync(join(root, 'made.txt'), 'made\n');
}

function describe(root: string): Map<string, string> {
  const seen = new Map<string, string>();
  for (const name of fs.readdirSync(root, { recursive: true, encoding: 'utf8' })) {
    const path = join(root, name);
    const stat = fs.lstatSync(path);
    const bytes = stat.isSymbolicLink()
      ? fs.readlinkSync(path)
      : stat.isFile()
        ? crypto.createHash('sha256').update(fs.readFileSync(path)).digest('hex')
        : '';
    seen.set(name, `${stat.mode.toString(8)} ${stat.uid}:${stat.gid} ${bytes}`);
  }
  return seen;
}
