// @ts-check

/**
 * A goal that the project has set itself: one figure of ours against one of a peer, or against another
 * figure of ours, in the same run.
 * @typedef {{ text: string, atMost: number, ours: Pointer, against: Pointer }} Goal
 * @typedef {{ peer: string, act: string, changed: number | 'all' }} Pointer
 * @typedef {{ tree: string, goal: Goal, ratio: number, fastest: number, met: boolean }} Verdict
 * `ratio` of the medians decides; `fastest` is that of the fastest rounds, for machines with other load.
 */

/** @type {readonly Goal[]} */
const FIXED = [
  {
    text: "first open at most 0.5 of shadow git's first add -A",
    atMost: 0.5,
    ours: { peer: 'preimage', act: 'first', changed: 0 },
    against: { peer: 'shadow git', act: 'first', changed: 0 },
  },
  {
    text: "rewind of all files at most 2 of shadow git's restore",
    atMost: 2,
    ours: { peer: 'preimage', act: 'restore', changed: 'all' },
    against: { peer: 'shadow git', act: 'restore', changed: 'all' },
  },
  {
    text: 'close after all changed: last quarter at most 1.5 of the first, per file',
    atMost: 1.5,
    ours: { peer: 'preimage', act: 'last quarter', changed: 'all' },
    against: { peer: 'preimage', act: 'first quarter', changed: 'all' },
  },
  {
    text: 'many turns on 10 files: last quarter at most 1.5 of the first, per turn',
    atMost: 1.5,
    ours: { peer: 'preimage', act: 'last quarter of turns', changed: 4 },
    against: { peer: 'preimage', act: 'first quarter of turns', changed: 4 },
  },
];

/**
 * @param {readonly (number | 'all')[]} counts
 * @returns {Goal[]}
 */
export function goalsFor(counts) {
  const turns = counts.map((changed) => ({
    text: `warm open + close, ${changed} changed: no slower than two shadow snapshots`,
    atMost: 1,
    ours: { peer: 'preimage', act: 'turn', changed },
    against: { peer: 'shadow git', act: 'turn', changed },
  }));
  return [...FIXED.slice(0, 1), ...turns, ...FIXED.slice(1)];
}

/**
 * Judges what was measured; a goal whose figures were not is left out.
 * @param {import('./measure.mjs').Samples} samples
 * @param {string} tree
 * @param {readonly Goal[]} goals
 * @returns {Verdict[]}
 */
export function judge(samples, tree, goals) {
  return goals.flatMap((goal) => {
    const ours = samples.summary({ tree, ...goal.ours });
    const against = samples.summary({ tree, ...goal.against });
    if (ours === undefined || against === undefined) return [];
    const ratio = ours.median / against.median;
    return [{ tree, goal, ratio, fastest: ours.min / against.min, met: ratio <= goal.atMost }];
  });
}

/**
 * Finds what is said beside a figure of ours.
 * @param {readonly Verdict[]} verdicts
 * @param {string} act
 * @param {number | 'all'} changed
 */
export function verdictFor(verdicts, act, changed) {
  return verdicts.find(({ goal }) => goal.ours.act === act && goal.ours.changed === changed);
}
