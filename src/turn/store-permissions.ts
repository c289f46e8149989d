import fs from 'node:fs';
import { join } from 'node:path';
import { printableText } from '../core/printable.js';
import type { StoreLayout } from '../store/layout.js';

/** Bits that let others than the owner in. */
const OTHERS = 0o077;

/**
 * Lists, in words, what in a store others than its owner may use, or what is not its owner's. Files
 * over the size limit are left out: they may be names of files in the workspace, with its permissions,
 * and the directories above them let nobody in.
 */
export function checkPermissions({ directory, big }: StoreLayout): string[] {
  const wrong: string[] = [];
  const visit = (path: string): void => {
    const stat = fs.lstatSync(path, { throwIfNoEntry: false });
    if (stat === undefined) return;
    const mode = (stat.mode & 0o7777).toString(8).padStart(4, '0');
    if (stat.isSymbolicLink()) wrong.push(`${printableText(path)} is a symbolic link`);
    else if ((stat.mode & OTHERS) !== 0) wrong.push(`${printableText(path)} has mode ${mode}`);
    else if (process.geteuid !== undefined && stat.uid !== process.geteuid()) {
      wrong.push(`${printableText(path)} belongs to user ${stat.uid}`);
    }
    if (!stat.isDirectory() || path === big) return;
    for (const name of fs.readdirSync(path)) visit(join(path, name));
  };
  visit(directory);
  return wrong;
}
