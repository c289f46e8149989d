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
  fs.mkdirSync(directory);
  fs.writeFileSync(join(directory, 'package.json'), '{ "private": true }\n');
  const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock'];
  const installed = spawnSync('npm', ['install', ...options, ...PACKAGES], {
    cwd: directory,
    encoding: 'utf8',
    shell: process.platform === 'win32',
  });
  if (installed.status !== 0) {
    const why = (installed.stderr || String(installed.error ?? '')).trim().split('\n')[0];
    return { failed: `npm could not install ${PACKAGES.join(', ')}: ${why}` };
  }
  const packages = join(directory, 'packages');
  fs.renameSync(join(directory, 'node_modules'), packages);
  fs.rmSync(join(packages, '.bin'), { recursive: true, force: true });
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
