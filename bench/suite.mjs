// @ts-check
import fs from 'node:fs';
import { join } from 'node:path';
import { judge } from './goals.mjs';
import { treeText } from './report.mjs';
import { runRound } from './rounds.mjs';

/**
 * What every part of a run is given.
 * @typedef {{
 *   directory: string,
 *   samples: import('./measure.mjs').Samples,
 *   rounds: number,
 *   quick: boolean,
 *   output: import('./output.mjs').Output,
 * }} Run
 *
 * A tree, those who are measured on it beside us, and what is asked of us there.
 * @typedef {{
 *   tree: import('./trees.mjs').Tree,
 *   ours: import('./peers/peer.mjs').MakePeer,
 *   groups: readonly { title: string, peers: readonly import('./peers/peer.mjs').MakePeer[] }[],
 *   counts: readonly import('./goals.mjs').Count[],
 * }} Plan
 */

/**
 * Runs every round on fresh copies of the tree, and gives the seats of the last one: ours first.
 * @param {Run} run
 * @param {Plan} plan
 * @param {(ours: import('./rounds.mjs').Seat) => unknown} [afterRound]
 */
export async function runRounds(run, plan, afterRound = () => {}) {
  const { tree, counts, groups } = plan;
  const peers = [plan.ours, ...groups.flatMap((group) => group.peers)];
  /** @type {import('./rounds.mjs').Seat[]} */
  let seats = [];
  for (let number = 1; number <= run.rounds; number++) {
    run.output.say(`${tree.name}: round ${number} of ${run.rounds}`);
    const directory = join(run.directory, `${tree.name.replaceAll(' ', '-')}-${number}`);
    fs.mkdirSync(directory);
    seats = await runRound({ tree, peers, counts, samples: run.samples, directory, number });
    const [ours] = seats;
    if (ours !== undefined) await afterRound(ours);
  }
  return seats;
}

/**
 * Prints what was measured on a tree, and judges it.
 * @param {Run} run
 * @param {Plan & { goals: readonly import('./goals.mjs').Goal[], names: readonly string[] }} plan
 * @param {readonly import('./report.mjs').FloorRow[]} floors
 */
export function printTree(run, plan, floors) {
  const { samples, output, rounds } = run;
  const { tree, counts, names } = plan;
  const verdicts = judge(samples, tree.name, plan.goals);
  let at = 1;
  const groups = plan.groups.map(({ title, peers }) => {
    const from = at;
    at += peers.length;
    return { title, peers: names.slice(from, at) };
  });
  const size = (tree.bytes / 1e6).toFixed(1);
  output.print(
    `## Tree: ${tree.name}, ${tree.files} files, ${size} MB, rounds: ${rounds}`,
    treeText({ samples, tree, groups, counts, verdicts }, floors),
  );
  return verdicts;
}

/** What a turn of ours is held against: its first open reads all bytes, each later half looks at all stamps. */
export const FLOORS = [
  { what: 'first open', act: 'first', floor: 'cat', times: 1 },
  { what: 'warm open + close', act: 'turn', floor: 'git status', times: 2 },
  { what: 'warm open + close', act: 'turn', floor: 'find -newer', times: 2 },
];
