// @ts-check
import { spawnSync } from 'node:child_process';
import v8 from 'node:v8';
import vm from 'node:vm';

/**
 * What a figure belongs to.
 * @typedef {{ tree: string, peer: string, act: string, changed: number | 'all' }} About
 */

/** @typedef {{ median: number, min: number, max: number, count: number }} Summary */

/** The figures of all rounds. */
export class Samples {
  /** @type {Map<string, { about: About, values: number[] }>} */
  #byKey = new Map();

  /** @param {About} about @param {number} value */
  add(about, value) {
    const key = keyOf(about);
    const known = this.#byKey.get(key);
    if (known === undefined) this.#byKey.set(key, { about, values: [value] });
    else known.values.push(value);
  }

  /** @param {About} about @returns {Summary | undefined} */
  summary(about) {
    const known = this.#byKey.get(keyOf(about));
    return known === undefined ? undefined : summarize(known.values);
  }

  /** Everything, for `--json`. */
  all() {
    return [...this.#byKey.values()].map(({ about, values }) => ({
      ...about,
      ...summarize(values),
      values,
    }));
  }
}

/** @param {readonly number[]} values @returns {Summary} */
export function summarize(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const high = sorted[middle] ?? Number.NaN;
  const low = sorted[sorted.length % 2 === 1 ? middle : middle - 1] ?? Number.NaN;
  return {
    median: (low + high) / 2,
    min: sorted[0] ?? Number.NaN,
    max: sorted.at(-1) ?? Number.NaN,
    count: sorted.length,
  };
}

/**
 * Milliseconds that an act takes.
 * @param {() => unknown} act
 */
export async function timed(act) {
  const start = process.hrtime.bigint();
  await act();
  return Number(process.hrtime.bigint() - start) / 1e6;
}

/**
 * First and last quarter of a row of figures, each as its mean.
 * @param {readonly number[]} values
 */
export function quarters(values) {
  const quarter = Math.max(1, Math.floor(values.length / 4));
  return { first: mean(values.slice(0, quarter)), last: mean(values.slice(-quarter)) };
}

/**
 * Takes what earlier acts left behind out of the next figure: dirty pages of the file system and
 * young garbage of this process. A full collection would also throw away code that V8 has compiled,
 * and the next act would pay for compiling it again.
 * @param {string} directory
 */
export function calm(directory) {
  const done = spawnSync('sync', ['-f', directory], { stdio: 'ignore' });
  if (done.status !== 0) spawnSync('sync', [], { stdio: 'ignore' });
  collect({ type: 'minor' });
}

v8.setFlagsFromString('--expose-gc');
const collect = /** @type {(options: { type: 'minor' }) => void} */ (vm.runInNewContext('gc'));

/** @param {About} about */
function keyOf({ tree, peer, act, changed }) {
  return [tree, peer, act, changed].join('|');
}

/** @param {readonly number[]} values */
function mean(values) {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
