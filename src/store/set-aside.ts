import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { isErrno } from '../core/problem.js';
import { makePrivateDirectory, syncDirectory } from '../files/durable.js';

/** Moves a file of the store to where damaged ones are kept, and gives its place there. */
export function setAside(damaged: string, path: string): string {
  makePrivateDirectory(damaged);
  const aside = freePlace(damaged, basename(path));
  try {
    fs.renameSync(path, aside);
  } catch (error) {
    if (!isErrno(error, 'ENOENT')) throw error;
  }
  syncDirectory(damaged);
  syncDirectory(dirname(path));
  return aside;
}

/** Copies a file of the store to where damaged ones are kept: one that is about to be replaced. */
export function copyAside(damaged: string, path: string): string {
  makePrivateDirectory(damaged);
  const aside = freePlace(damaged, basename(path));
  fs.copyFileSync(path, aside, fs.constants.COPYFILE_EXCL);
  const fd = fs.openSync(aside, 'r+');
  try {
    fs.fsyncSync(fd);
  } finally {
    fs.closeSync(fd);
  }
  syncDirectory(damaged);
  return aside;
}

/** What was set aside earlier keeps its place. */
function freePlace(damaged: string, name: string): string {
  const plain = join(damaged, name);
  return fs.existsSync(plain) ? `${plain}.${randomBytes(4).toString('hex')}` : plain;
}
