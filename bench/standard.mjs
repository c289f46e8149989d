// @ts-check
import { join } from 'node:path';
import { firstCallGoals, generatedGoals, judge, packagesGoals, startUpGoals } from './goals.mjs';
import { runHistory } from './history.mjs';
import { installedTree } from './packages.mjs';
import { borg } from './peers/borg.mjs';
import { cp, cpReflink } from './peers/cp.mjs';
import { eagerAppending, eagerRewriting } from './peers/eager-store.mjs';
import { gitStash } from './peers/git-stash.mjs';
import { restic } from './peers/restic.mjs';
import { rsync } from './peers/rsync.mjs';
import { shadowGit } from './peers/shadow-git.mjs';
import { tar } from './peers/tar.mjs';
import { versionOf } from './peers/tool.mjs';
import { preimage } from './preimage.mjs';
import {
  COMMANDS,
  EMPTY_SCRIPT,
  FIRST_CALL,
  measureStartUp,
  START_UP,
  WATCH_FEW,
} from './start-up.mjs';
import { FLOORS, printTree, runRounds } from './suite.mjs';
import { startUpTable } from './table.mjs';
import { ARTICLE, generatedTree, SMALL } from './trees.mjs';

/** @typedef {import('./suite.mjs').Run} Run */

/**
 * The trees of everyday: the article's, real packages, and whole command lines.
 * @param {Run} run
 * @returns {Promise<import('./goals.mjs').Verdict[]>}
 */
export async function runStandard(run) {
  const { ours, verdicts } = await generated(run);
  if (!run.quick) verdicts.push(...(await packages(run)));
  const { samples, output } = run;
  await measureStartUp(ours, join(run.directory, 'start'), samples);
  const judged = judge(samples, START_UP, startUpGoals(WATCH_FEW));
  const first = judge(samples, START_UP, firstCallGoals(FIRST_CALL, EMPTY_SCRIPT, COMMANDS));
  output.print(
    '## Start-up: the command line as a whole\n',
    startUpTable(samples, { what: 'whole processes, ', act: 'process', least: 'true' }, judged),
    '\n### Until the first call about the workspace\n',
    startUpTable(samples, { what: '', act: FIRST_CALL, least: EMPTY_SCRIPT }, first),
  );
  return [...verdicts, ...judged, ...first];
}

/** What copies everything, or everything that changed; where it is here. */
function backups() {
  return [
    cp,
    cpReflink,
    ...(versionOf('rsync') === undefined ? [] : [rsync]),
    tar,
    ...(versionOf('restic', 'version') === undefined ? [] : [restic]),
    ...(versionOf('borg') === undefined ? [] : [borg]),
  ];
}

/** @param {Run} run */
async function generated(run) {
  const { quick, directory, samples, output } = run;
  /** @type {import('./goals.mjs').Count[]} */
  const counts = quick ? [0, 4, 50, 'all'] : [0, 4, 50, 500, 'all'];
  const stores = [shadowGit, gitStash, eagerRewriting, eagerAppending];
  const plan = {
    tree: generatedTree(quick ? SMALL : ARTICLE),
    ours: preimage,
    groups: [
      { title: 'git and the eager store', peers: stores },
      { title: 'copies and backups', peers: backups() },
    ],
    counts,
  };
  const seats = await runRounds(run, plan);
  const turns = quick ? 80 : 160;
  for (const [i, make] of [preimage, shadowGit].entries()) {
    output.say(`${turns} turns: ${i + 1} of 2`);
    const fresh = join(directory, `turns-${i}`);
    const { name, first, last } = await runHistory(make, fresh, turns);
    const about = { tree: plan.tree.name, peer: name, changed: 4 };
    samples.add({ ...about, act: 'first quarter of turns' }, first);
    samples.add({ ...about, act: 'last quarter of turns' }, last);
  }
  const [ours] = seats;
  if (ours === undefined) throw new Error('No round was run.');
  const names = seats.map(({ peer }) => peer.name);
  const goals = generatedGoals(counts);
  return { ours, verdicts: printTree(run, { ...plan, names, goals }, FLOORS) };
}

/** @param {Run} run */
async function packages(run) {
  const tree = installedTree(join(run.directory, 'install'));
  if ('failed' in tree) {
    run.output.print('## npm packages: left out\n', tree.failed);
    return [];
  }
  /** @type {import('./goals.mjs').Count[]} */
  const counts = [0, 4, 50, 'all'];
  const groups = [
    { title: 'git', peers: [shadowGit, gitStash] },
    { title: 'copies and backups', peers: backups() },
  ];
  const plan = { tree, ours: preimage, groups, counts };
  const seats = await runRounds(run, plan);
  const names = seats.map(({ peer }) => peer.name);
  return printTree(run, { ...plan, names, goals: packagesGoals(counts) }, FLOORS);
}
