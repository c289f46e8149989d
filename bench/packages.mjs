// @ts-check
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { join } from 'node:path';
import { listFiles } from './trees.mjs';

/** Real packages without dependencies of their own: many small files, and some of several MB. */
const PACKAGES = ['lodash@4.17.21', 'rxjs@7.8.2', 'typescript@5.9.3'];

/**
 * Installs packages once; each workspace is a copy of what came. They are no `node_modules` there,
 * for those are left out by rule.
 * @param {string} directory
 * @returns {import('./trees.mjs').Tree | { failed: string }}
 */
export function installedTree(directory) {
  const installed = install(directory, PACKAGES);
  if ('failed' in installed) return installed;
  const packages = join(directory, 'packages');
  fs.renameSync(installed.modules, packages);
  const files = listFiles(packages);
  return {
    name: 'npm packages',
    files: files.length,
    bytes: files.reduce((sum, { size }) => sum + size, 0),
    even: false,
    make: (root) => {
      fs.cpSync(packages, root, { recursive: true });
    },
  };
}

/**
 * Installs packages in a fresh directory without running anything of theirs, and without what is
 * another on each platform.
 * @param {string} directory
 * @param {readonly string[]} packages
 * @returns {{ modules: string } | { failed: string }}
 */
export function install(directory, packages) {
  fs.mkdirSync(directory);
  fs.writeFileSync(join(directory, 'package.json'), '{ "private": true }\n');
  const installed = spawnSync('npm', ['install', ...OPTIONS, ...packages], {
    cwd: directory,
    encoding: 'utf8',
    shell: process.platform === 'win32',
  });
  if (installed.status === 0) return { modules: join(directory, 'node_modules') };
  const why = (installed.stderr || String(installed.error ?? '')).trim().split('\n')[0];
  return { failed: `npm could not install ${packages.join(', ')}: ${why}` };
}

const OPTIONS = [
  '--ignore-scripts',
  '--omit=optional',
  // Restic 0.14 cannot restore over a symbolic link that is there.
  '--no-bin-links',
  '--legacy-peer-deps',
  '--no-audit',
  '--no-fund',
  '--no-package-lock',
];
