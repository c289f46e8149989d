import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';

/** The `sed -i` of this machine, before its script: BSD's wants the backup's suffix as a word. */
export const SED_IN_PLACE = process.platform === 'darwin' ? "sed -i ''" : 'sed -i';

/** One of the programs in `test/real/programs`, by its absolute path. */
export function program(name: string): string {
  return fileURLToPath(new URL(`../real/programs/${name}`, import.meta.url));
}

/**
 * States a promise that only a machine with these means can show. Where one is missing, a test of
 * that very fact stands in the report instead, under a name that says what was not shown.
 */
export function testWith(
  needs: readonly Need[],
  title: string,
  show: () => Promise<void>,
  timeout?: number,
): void {
  const missing = needs.filter((need) => !need.isHere());
  if (missing.length === 0) {
    test(title, show, timeout);
    return;
  }
  const names = missing.map(({ name }) => name).join(', ');
  test(`not shown, for this machine has no ${names}: ${title}`, () => {
    expect(missing.some((need) => need.isHere())).toBe(false);
  });
}

/** Something that not every machine has. */
export type Need = { readonly name: string; readonly isHere: () => boolean };

/** A program that can be started by its name. */
export function command(name: string, ...args: readonly string[]): Need {
  return {
    name: [name, ...args].join(' '),
    isHere: () => spawnSync(name, args.length === 0 ? ['--version'] : args).status === 0,
  };
}

/** A way to see which files are mapped into which process. */
export const PROCESS_MAPS: Need = {
  name: '/proc/PID/maps',
  isHere: () => existsSync('/proc/self/maps'),
};

/** Linux itself: what its kernel does and no other. */
export const LINUX: Need = { name: 'Linux kernel', isHere: () => process.platform === 'linux' };

/** Terminals that a test can type on. */
export const TERMINALS: Need = {
  name: 'pseudo-terminals of Python',
  isHere: () => spawnSync('python3', ['-c', 'import pty; pty.openpty()']).status === 0,
};

/** The right to mount a file system of a few pages. */
export const TWO_PROCESSORS: Need = {
  name: 'two processors',
  isHere: () => os.availableParallelism() > 1,
};

export const SMALL_DISKS: Need = {
  name: 'right to mount a tmpfs',
  isHere: () => {
    const at = mkdtempSync(path.join(os.tmpdir(), 'preimage-mount-'));
    const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', at]);
    if (mounted.status === 0) spawnSync('umount', ['-l', at]);
    rmSync(at, { recursive: true, force: true });
    return mounted.status === 0;
  },
};

/** The right to have a directory stand at two places. */
export const BIND_MOUNTS: Need = {
  name: 'right to bind a directory',
  isHere: () => {
    const at = mkdtempSync(path.join(os.tmpdir(), 'preimage-bind-'));
    const mounted = spawnSync('mount', ['--bind', at, at]);
    if (mounted.status === 0) spawnSync('umount', ['-l', at]);
    rmSync(at, { recursive: true, force: true });
    return mounted.status === 0;
  },
};

/** Root reads everything; without these two rights it is held to the mode like anybody else. */
export const HELD_TO_THE_MODE: readonly string[] =
  process.getuid?.() === 0 ? ['setpriv', '--bounding-set=-dac_override,-dac_read_search'] : [];

/** A way to run as somebody who is held to permission bits. */
export const UNPRIVILEGED: Need =
  process.getuid?.() === 0
    ? command('setpriv', '--bounding-set=-dac_override,-dac_read_search', 'true')
    : { name: 'modes', isHere: () => process.platform !== 'win32' };

/** A file system and the right to mark files immutable on it. */
export const IMMUTABLE: Need = {
  name: 'right to mark files immutable',
  isHere: () => {
    const at = mkdtempSync(path.join(os.tmpdir(), 'preimage-chattr-'));
    const marked = spawnSync('chattr', ['+i', at]).status === 0;
    if (marked) spawnSync('chattr', ['-i', at]);
    rmSync(at, { recursive: true, force: true });
    return marked;
  },
};

/** Users with numbers. */
export const OWNERS: Need = {
  name: 'right to give files away',
  isHere: () => process.getuid?.() === 0,
};

/**
 * Installs npm packages once for a test file, in a directory that goes when the file is done. Gives a
 * function that copies the whole project into an empty directory.
 */
export function installedOnce(...packages: readonly string[]): Installed {
  let project = '';
  beforeAll(() => {
    project = realpathSync(mkdtempSync(path.join(os.tmpdir(), 'preimage-npm-')));
    writeFileSync(path.join(project, 'package.json'), '{ "name": "project", "private": true }\n');
    const result = spawnSync('npm', ['install', ...NPM_OPTIONS, '--save-exact', ...packages], {
      cwd: project,
      encoding: 'utf8',
    });
    if (result.status !== 0) throw new Error(`npm install failed: ${result.stderr}`);
  }, 60_000);
  afterAll(() => {
    rmSync(project, { recursive: true, force: true, maxRetries: 5 });
  });
  return {
    at: (relative) => path.join(project, relative),
    copyTo: (target, relative = '.') => {
      const source = path.join(project, relative);
      cpSync(source, target, { recursive: true, verbatimSymlinks: true });
    },
  };
}

/** What {@link installedOnce} gives; use it inside tests only. */
export type Installed = {
  readonly at: (relative: string) => string;
  /** Copies the project, or a directory of it. */
  readonly copyTo: (target: string, relative?: string) => void;
};

/** How npm is called: nothing of a package runs, nothing is asked that need not be. */
export const NPM_OPTIONS: readonly string[] = [
  '--ignore-scripts',
  '--no-audit',
  '--no-fund',
  '--prefer-offline',
];

/** Extended attributes of users, on the disk of temporary files, and the programs for them. */
export const ATTRIBUTES: Need = {
  name: 'getfattr and setfattr',
  isHere: () => onScratch('setfattr', '-n', 'user.try', '-v', '1') && command('getfattr').isHere(),
};

/** POSIX ACLs, on the disk of temporary files, and the programs for them. */
export const ACLS: Need = {
  name: 'getfacl and setfacl',
  isHere: () => onScratch('setfacl', '-m', 'u:12345:r') && command('getfacl').isHere(),
};

/** The right to set the system's own attributes, and to say what a program may do. */
export const SYSTEM_ATTRIBUTES: Need = {
  name: 'right to set trusted and security attributes',
  isHere: () =>
    onScratch('setfattr', '-n', 'trusted.try', '-v', '1') &&
    onScratch('setfattr', '-n', 'security.capability', '-v', CAPABILITY),
};

/** cap_net_raw+ep, as capabilities(7) stores it. */
export const CAPABILITY = '0x0100000200200000000000000000000000000000';

function onScratch(name: string, ...args: readonly string[]): boolean {
  const directory = mkdtempSync(path.join(os.tmpdir(), 'preimage-try-'));
  const file = path.join(directory, 'file');
  writeFileSync(file, '');
  const done = spawnSync(name, [...args, file]).status === 0;
  rmSync(directory, { recursive: true, force: true });
  return done;
}
