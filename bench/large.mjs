// @ts-check
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import { join } from 'node:path';
import { runAlone } from './alone.mjs';
import { largeGoals } from './goals.mjs';
import { install } from './packages.mjs';
import { restic } from './peers/restic.mjs';
import { shadowGit } from './peers/shadow-git.mjs';
import { versionOf } from './peers/tool.mjs';
import { preimageIncluding } from './preimage.mjs';
import { printTree, runRounds } from './suite.mjs';
import { aloneTable } from './table.mjs';
import { listFiles } from './trees.mjs';

const NAME = 'node_modules';
const INCLUDE = [NAME];

/**
 * What a larger application may have, up to about 105,000 files and 540 MB; few of them alike, for a
 * store of whole contents has less to do where many are.
 */
const PACKAGES = [
  'next@15.5.4',
  'react@19.1.1',
  'react-dom@19.1.1',
  '@aws-sdk/client-ec2@3.888.0',
  '@aws-sdk/client-iam@3.888.0',
  '@aws-sdk/client-s3@3.888.0',
  '@aws-sdk/client-sagemaker@3.888.0',
  '@mui/material@7.3.2',
  '@tabler/icons-react@3.35.0',
  'antd@5.27.4',
  'core-js@3.45.1',
  'date-fns@4.1.0',
  'eslint@9.35.0',
  'jest@30.1.3',
  'lodash@4.17.21',
  'lucide-react@0.544.0',
  'mathjs@14.8.0',
  'rxjs@7.8.2',
  'rxjs-7.5@npm:rxjs@7.5.7',
  'three@0.180.0',
  'typescript@5.9.3',
  'viem@2.37.8',
  'webpack@5.101.3',
];

/**
 * First opens, warm ones, and a turn that changes some files.
 * @type {import('./goals.mjs').Count[]}
 */
const COUNTS = [0, 100];

/** What is done once more in a process of its own, for its memory. */
const ACTS = /** @type {const} */ (['open', 'close']);

/** What is held against what: a warm open is one look at all stamps. */
const FLOORS = [
  { what: 'first open', act: 'first', floor: 'cat', times: 1 },
  { what: 'warm open', act: 'before', floor: 'git status', times: 1 },
  { what: 'warm open', act: 'before', floor: 'find -newer', times: 1 },
];

/**
 * A whole `node_modules`, covered because it is included.
 * @param {import('./suite.mjs').Run} run
 * @returns {Promise<import('./goals.mjs').Verdict[]>}
 */
export async function runLarge(run) {
  const { samples, output, directory } = run;
  output.say(`${NAME}: npm install`);
  const tree = installed(join(directory, 'install-large'));
  if ('failed' in tree) {
    output.print(`## ${NAME}: left out\n`, tree.failed);
    return [];
  }
  const backups = versionOf('restic', 'version') === undefined ? [] : [restic];
  const groups = [{ title: 'git and restic', peers: [shadowGit, ...backups] }];
  const plan = { tree, ours: preimageIncluding(INCLUDE), groups, counts: COUNTS };
  const seats = await runRounds(run, plan, ({ root, home }) => {
    const where = { root, store: join(home, 'store'), include: INCLUDE, turn: 'alone' };
    const about = { tree: tree.name, peer: 'preimage', changed: 0 };
    for (const act of ACTS) {
      const { ms, peak } = runAlone(act, where);
      samples.add({ ...about, act: `alone ${act}` }, ms);
      samples.add({ ...about, act: `memory ${act}` }, peak / 1e6);
    }
  });
  const names = seats.map(({ peer }) => peer.name);
  const verdicts = printTree(run, { ...plan, names, goals: largeGoals() }, FLOORS);
  output.print(aloneTable({ samples, tree: NAME, files: tree.files }, ACTS, verdicts));
  return verdicts;
}

/** @param {string} directory @returns {import('./trees.mjs').Tree | { failed: string }} */
function installed(directory) {
  const done = install(directory, PACKAGES);
  if ('failed' in done) return done;
  const { modules } = done;
  // What git would leave out, it would not put back.
  for (const { path } of listFiles(modules)) {
    if (path.endsWith('.gitignore')) fs.rmSync(join(modules, path));
  }
  const files = listFiles(modules);
  return {
    name: NAME,
    files: files.length,
    bytes: files.reduce((sum, { size }) => sum + size, 0),
    even: false,
    make: (root) => {
      fs.mkdirSync(root);
      execFileSync('cp', ['-a', modules, join(root, NAME)]);
    },
  };
}
