// @ts-check
import fs from 'node:fs';
import os from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { goalsFor, judge } from './goals.mjs';
import { runHistory } from './history.mjs';
import { describeMachine } from './machine.mjs';
import { Samples } from './measure.mjs';
import { installedTree } from './packages.mjs';
import { cp } from './peers/cp.mjs';
import { eagerAppending, eagerRewriting } from './peers/eager-store.mjs';
import { shadowGit } from './peers/shadow-git.mjs';
import { preimage } from './preimage.mjs';
import * as report from './report.mjs';
import { runRound } from './rounds.mjs';
import { measureStartUp } from './start-up.mjs';
import { ARTICLE, generatedTree, SMALL } from './trees.mjs';

const { values: options } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    quick: { type: 'boolean', default: false },
    rounds: { type: 'string', default: '3' },
    help: { type: 'boolean', default: false },
  },
});
const HELP = `npm run bench -- [--quick] [--rounds N] [--json]

Measures preimage beside a shadow git repository, cp -a and an eager store, on the same trees.
  --quick     a tree of ${SMALL.files} files only, under 40 seconds
  --rounds N  medians over N rounds (3)
  --json      every figure as JSON on standard output`;
const ROUNDS = Math.max(1, Number(options.rounds) || 3);
/** What a full run needs at most, of disk. */
const NEEDED_BYTES = 2.2e9 * ROUNDS;
/** @type {readonly (number | 'all')[]} */
const COUNTS = options.quick ? [0, 4, 50, 'all'] : [0, 4, 50, 500, 'all'];
const TURNS = options.quick ? 80 : 160;

if (options.help) console.log(HELP);
else await main();

async function main() {
  const directory = fs.mkdtempSync(join(os.tmpdir(), 'preimage-bench-'));
  try {
    await bench(directory);
  } finally {
    say('removing what was made');
    fs.rmSync(directory, { recursive: true, force: true });
  }
}

/** @param {string} directory */
async function bench(directory) {
  const { bavail, bsize } = fs.statfsSync(directory);
  if (!options.quick && bavail * bsize < NEEDED_BYTES) {
    throw new Error(`${os.tmpdir()} has under ${NEEDED_BYTES / 1e9} GB free; set TMPDIR.`);
  }
  for (const name of Object.keys(process.env)) {
    if (name.startsWith('PREIMAGE_')) delete process.env[name];
  }
  const samples = new Samples();
  const machine = describeMachine(directory);
  print(machineText(machine));
  const { seats, verdicts } = await generated(directory, samples);
  if (!options.quick) verdicts.push(...(await packages(directory, samples)));
  const ours = seats.find(({ peer }) => peer.name === 'preimage');
  const figures = ours === undefined ? [] : await measureStartUp(ours, join(directory, 'start'));
  print('## Start-up: the command line as a whole\n', report.startUpTable(figures));
  if (options.json) {
    const goals = verdicts.map(({ goal, ...verdict }) => ({ ...goal, ...verdict }));
    const all = { machine, goals, figures: samples.all(), startUp: figures };
    console.log(JSON.stringify(all, null, 2));
  }
}

/** @param {string} directory @param {Samples} samples */
async function generated(directory, samples) {
  const tree = generatedTree(options.quick ? SMALL : ARTICLE);
  const peers = [preimage, shadowGit, cp, eagerRewriting, eagerAppending];
  const seats = await rounds({ tree, peers, counts: COUNTS, samples, directory });
  for (const [i, make] of [preimage, shadowGit].entries()) {
    say(`${TURNS} turns: ${i + 1} of 2`);
    const turns = join(directory, `turns-${i}`);
    const { name, first, last } = await runHistory(make, turns, TURNS);
    const about = { tree: tree.name, peer: name, changed: 4 };
    samples.add({ ...about, act: 'first quarter of turns' }, first);
    samples.add({ ...about, act: 'last quarter of turns' }, last);
  }
  const names = seats.map(({ peer }) => peer.name);
  return { seats, verdicts: printTree({ samples, tree, peers: names, counts: COUNTS }) };
}

/** @param {string} directory @param {Samples} samples */
async function packages(directory, samples) {
  const tree = installedTree(join(directory, 'install'));
  if ('failed' in tree) {
    print('## npm packages: left out\n', tree.failed);
    return [];
  }
  const peers = [preimage, shadowGit, cp];
  const counts = COUNTS.filter((count) => count !== 500);
  const seats = await rounds({ tree, peers, counts, samples, directory });
  return printTree({ samples, tree, peers: seats.map(({ peer }) => peer.name), counts });
}

/**
 * Gives the seats of the last round.
 * @param {Omit<import('./rounds.mjs').Round, 'number'>} plan
 */
async function rounds(plan) {
  /** @type {import('./rounds.mjs').Seat[]} */
  let seats = [];
  for (let number = 1; number <= ROUNDS; number++) {
    say(`${plan.tree.name}: round ${number} of ${ROUNDS}`);
    const fresh = join(plan.directory, `${plan.tree.name.replaceAll(' ', '-')}-${number}`);
    fs.mkdirSync(fresh);
    seats = await runRound({ ...plan, directory: fresh, number });
  }
  return seats;
}

/** @param {Omit<report.Report, 'verdicts'>} plan */
function printTree(plan) {
  const { samples, tree, counts } = plan;
  const verdicts = judge(samples, tree.name, goalsFor(counts));
  const full = { ...plan, verdicts };
  const size = (tree.bytes / 1e6).toFixed(1);
  print(
    `## Tree: ${tree.name}, ${tree.files} files, ${size} MB, ${ROUNDS} rounds\n`,
    report.actsTable(full),
    '\n### Per changed file\n',
    report.turnPerFileTable(full),
    '',
    report.undoPerFileTable(full),
    ...(tree.even ? ['\n### Flatness\n', report.flatnessTable(full)] : []),
    '\n### Size\n',
    report.sizeTable(full),
    '\n### Goals\n',
    report.goalsTable(verdicts),
  );
  return verdicts;
}

/** @param {Record<string, string>} machine */
function machineText(machine) {
  const lines = Object.entries(machine).map(([name, value]) => `- ${name}: ${value}`);
  return `## Machine\n\n${lines.join('\n')}`;
}

/** @param {...string} lines */
function print(...lines) {
  if (!options.json) console.log(`${lines.join('\n')}\n`);
}

/** @param {string} line */
function say(line) {
  const seconds = Math.round(performance.now() / 1_000);
  console.error(`${String(seconds).padStart(4)} s  ${line}`);
}
