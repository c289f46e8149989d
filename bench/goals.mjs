// @ts-check

/**
 * A goal that the project has set itself: a figure of ours held against one of a peer in the same run,
 * or against a bound. `row` is where a table says how it came out.
 * @typedef {{ row: string, text: string, atMost: number, unit: Unit, value: (take: Take) => number }} Goal
 * @typedef {'ratio' | 'ms' | 'MB' | 'µs'} Unit
 * @typedef {{ peer: string, act: string, changed: number | 'all' }} Pointer
 * @typedef {(pointer: Pointer) => number} Take
 *
 * `value` is of the medians and decides; `fastest` is of the fastest rounds, for machines with other load.
 * @typedef {{ tree: string, goal: Goal, value: number, fastest: number, met: boolean }} Verdict
 */

/** @typedef {number | 'all'} Count */

/** The tree of the article. @param {readonly Count[]} counts @returns {Goal[]} */
export function generatedGoals(counts) {
  const first = { peer: 'preimage', act: 'first', changed: 0 };
  const turn = { peer: 'preimage', act: 'turn', changed: 0 };
  return [
    againstGit('first', 0.2, "first open at most 0.2 of shadow git's first add -A"),
    {
      ...goal('cat', 3, 'first open at most 3 of cat of all files'),
      value: (take) => take(first) / take({ ...FLOOR, peer: 'cat' }),
    },
    {
      ...goal(
        'git status',
        0.8,
        'warm open + close, nothing changed: at most 0.8 of two git status',
      ),
      value: (take) => take(turn) / (2 * take({ ...FLOOR, peer: 'git status' })),
    },
    ...turnGoals(counts),
    againstGit('after all', 0.5, "close, all changed: at most 0.5 of shadow git's add -A"),
    {
      ...goal('steps', 1.5, 'close: what one more changed file costs, most at most 1.5 of least'),
      value: (take) => {
        const costs = costOfOneMore(counts, take).flatMap(({ cost, judged }) =>
          judged ? cost : [],
        );
        return costs.length < 2 ? Number.NaN : Math.max(...costs) / Math.min(...costs);
      },
    },
    againstGit('restore all', 1, "rewind of all files at most shadow git's restore"),
    quarters('', 'all', 'close after all changed: last quarter at most 1.5 of the first, per file'),
    quarters(
      ' of turns',
      4,
      'many turns on 10 files: last quarter at most 1.5 of the first, per turn',
    ),
  ];
}

/** Real packages: the bounds of any tree. @param {readonly Count[]} counts @returns {Goal[]} */
export function packagesGoals(counts) {
  return [
    againstGit('first', 0.5, "first open at most 0.5 of shadow git's first add -A"),
    ...turnGoals(counts),
    againstGit('restore all', 2, "rewind of all files at most 2 of shadow git's restore"),
  ];
}

/** A whole `node_modules`. @returns {Goal[]} */
export function largeGoals() {
  const first = { peer: 'preimage', act: 'first', changed: 0 };
  const before = { peer: 'preimage', act: 'before', changed: 0 };
  return [
    againstGit('first', 0.2, "first open at most 0.2 of shadow git's first add -A"),
    {
      ...goal('restic', 0.5, 'first open at most 0.5 of restic backup'),
      value: (take) => take(first) / take({ ...first, peer: 'restic' }),
    },
    {
      ...goal('git status', 1, 'warm open at most one git status'),
      value: (take) => take(before) / take({ ...FLOOR, peer: 'git status' }),
    },
    {
      ...goal('memory open', 150, 'memory of a warm open in a process of its own'),
      unit: 'MB',
      value: (take) => take({ peer: 'preimage', act: 'memory open', changed: 0 }),
    },
  ];
}

/** A million files. @param {number} files @param {readonly string[]} acts @returns {Goal[]} */
export function millionGoals(files, acts) {
  return [
    ...acts.map((act) => ({
      ...goal(`memory ${act}`, 600, `peak memory, ${act}`),
      unit: /** @type {const} */ ('MB'),
      /** @type {Goal['value']} */
      value: (take) => take({ peer: 'preimage', act: `memory ${act}`, changed: 0 }),
    })),
    {
      ...goal('warm open', 5, 'warm open, per file'),
      unit: 'µs',
      value: (take) =>
        (take({ peer: 'preimage', act: 'alone warm open', changed: 0 }) / files) * 1e3,
    },
  ];
}

/**
 * Whole command lines, held against `true`.
 * @param {{ watched: string, unwatched: string }} names
 * @returns {Goal[]}
 */
export function startUpGoals({ watched, unwatched }) {
  /** @type {[string, number][]} */
  const bounds = [
    [watched, 200],
    [unwatched, 110],
  ];
  return bounds.map(([name, atMost]) => ({
    ...goal(name, atMost, `${name}: more than true alone`),
    unit: 'ms',
    value: (take) =>
      take({ peer: name, act: 'process', changed: 0 }) -
      take({ peer: 'true', act: 'process', changed: 0 }),
  }));
}

/**
 * The time until a command does something for its user, above that of a script that does nothing else.
 * @param {string} act
 * @param {string} empty
 * @param {readonly string[]} commands
 * @returns {Goal[]}
 */
export function firstCallGoals(act, empty, commands) {
  return commands.map((command) => ({
    ...goal(command, 30, `${command}: first useful call, after that of an empty script`),
    unit: 'ms',
    value: (take) =>
      take({ peer: command, act, changed: 0 }) - take({ peer: empty, act, changed: 0 }),
  }));
}

/**
 * What a close takes for each further changed file (ms), from each count to the next. Fewer than a
 * hundred files more are not judged: they take less than what one close differs from the next.
 * @param {readonly Count[]} counts
 * @param {Take} take
 */
export function costOfOneMore(counts, take) {
  /** @param {string} act @param {Count} changed */
  const ours = (act, changed) => take({ peer: 'preimage', act, changed });
  return counts.slice(1).map((to, i) => {
    const from = counts[i] ?? 0;
    const more = ours('files', to) - ours('files', from);
    return {
      from,
      to,
      cost: (ours('after', to) - ours('after', from)) / more,
      judged: more >= 100,
    };
  });
}

/**
 * Judges what was measured; a goal whose figures were not is left out.
 * @param {import('./measure.mjs').Samples} samples
 * @param {string} tree
 * @param {readonly Goal[]} goals
 * @returns {Verdict[]}
 */
export function judge(samples, tree, goals) {
  /** @param {'median' | 'min'} which @returns {Take} */
  const takeOf = (which) => (pointer) =>
    samples.summary({ tree, ...pointer })?.[which] ?? Number.NaN;
  return goals.flatMap((goal) => {
    const value = goal.value(takeOf('median'));
    if (Number.isNaN(value)) return [];
    const fastest = goal.value(takeOf('min'));
    return [{ tree, goal, value, fastest, met: value <= goal.atMost }];
  });
}

/**
 * Finds what is said beside a row.
 * @param {readonly Verdict[]} verdicts
 * @param {string} row
 */
export function verdictFor(verdicts, row) {
  return verdicts.find(({ goal }) => goal.row === row);
}

/** What one look at all files takes, of programs that do no more. */
const FLOOR = { act: 'floor', changed: 0 };

/** @param {string} row @param {number} atMost @param {string} text */
function goal(row, atMost, text) {
  return { row, atMost, text, unit: /** @type {Unit} */ ('ratio') };
}

/** @param {readonly Count[]} counts @returns {Goal[]} */
function turnGoals(counts) {
  return counts.map((changed) =>
    againstGit(
      `turn ${changed}`,
      1,
      `warm open + close, ${changed} changed: no slower than two shadow snapshots`,
    ),
  );
}

/**
 * @param {string} row an act, and how many files changed if that matters
 * @param {number} atMost
 * @param {string} text
 * @returns {Goal}
 */
function againstGit(row, atMost, text) {
  const [act = '', count = '0'] = row.split(' ');
  /** @type {Count} */
  const changed = count === 'all' ? 'all' : Number(count);
  return {
    ...goal(row, atMost, text),
    value: (take) =>
      take({ peer: 'preimage', act, changed }) / take({ peer: 'shadow git', act, changed }),
  };
}

/** @param {string} suffix @param {Count} changed @param {string} text @returns {Goal} */
function quarters(suffix, changed, text) {
  return {
    ...goal(`quarter${suffix}`, 1.5, text),
    value: (take) =>
      take({ peer: 'preimage', act: `last quarter${suffix}`, changed }) /
      take({ peer: 'preimage', act: `first quarter${suffix}`, changed }),
  };
}
