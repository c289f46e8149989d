// @ts-check
import { costOfOneMore, verdictFor } from './goals.mjs';
import { figure, spread, table, verdictText } from './table.mjs';

/**
 * @typedef {{
 *   samples: import('./measure.mjs').Samples,
 *   tree: import('./trees.mjs').Tree,
 *   groups: readonly Group[],
 *   counts: readonly (number | 'all')[],
 *   verdicts: readonly import('./goals.mjs').Verdict[],
 * }} Report
 * @typedef {{ title: string, peers: readonly string[] }} Group peers that share a table with us
 * @typedef {{ what: string, act: string, floor: string, times: number }} FloorRow
 * an act of ours with nothing changed, held against so many runs of a floor
 */

/** All tables of one tree. @param {Report} report @param {readonly FloorRow[]} floors */
export function treeText(report, floors) {
  const { tree, groups } = report;
  const tables = groups.flatMap((group) => [
    `\n### Beside ${group.title}\n`,
    actsTable(report, group),
    '\nPer changed file:\n',
    turnPerFileTable(report, group),
    '',
    undoPerFileTable(report, group),
  ]);
  return [
    ...tables,
    '\n### Floors\n',
    floorsTable(report, floors),
    '\n### A close, per changed file\n',
    closeTable(report),
    ...(tree.even ? ['\n### Flatness\n', flatnessTable(report)] : []),
    '\n### Size\n',
    sizeTable(report),
  ].join('\n');
}

/** What preimage and some peers take, with ratios. @param {Report} report @param {Group} group */
function actsTable(report, group) {
  const { counts } = report;
  const last = group.peers.includes(GIT) ? ['ours/git', 'goal'] : ['ours/fastest'];
  const header = ['ms: median (min–max)', ...withOurs(group), ...last];
  /** @type {[string, string, number | 'all'][]} */
  const acts = [
    ['first capture of the tree', 'first', 0],
    .../** @type {[string, string][]} */ ([
      ['before + after', 'turn'],
      ['  before', 'before'],
      ['  after', 'after'],
      ['undo', 'restore'],
    ]).flatMap(([what, act]) =>
      counts
        .filter((n) => act !== 'restore' || n !== 0)
        .map((n) => /** @type {[string, string, typeof n]} */ ([`${what}, ${n} changed`, act, n])),
    ),
  ];
  const rows = acts.map(([label, act, changed]) => actRow(report, group, { label, act, changed }));
  return table(header, rows);
}

/**
 * What one changed file adds to a turn that changes nothing: a small difference of large figures, so
 * it is taken between the fastest rounds.
 * @param {Report} report
 * @param {Group} group
 */
function turnPerFileTable(report, group) {
  const { samples, tree } = report;
  return perFileTable(report, group, 'before + after, fastest', (peer, changed) => {
    /** @param {number | 'all'} n */
    const fastest = (n) => samples.summary({ tree: tree.name, peer, act: 'turn', changed: n })?.min;
    return (fastest(changed) ?? Number.NaN) - (fastest(0) ?? 0);
  });
}

/** What undoing one changed file takes. @param {Report} report @param {Group} group */
function undoPerFileTable(report, group) {
  return perFileTable(report, group, 'undo', (peer, changed) =>
    medianOf(report, peer, 'restore', changed),
  );
}

/** What we take beside what cannot be saved. @param {Report} report @param {readonly FloorRow[]} rows */
function floorsTable({ samples, tree, verdicts }, rows) {
  const cells = rows.flatMap(({ what, act, floor, times }) => {
    const ours = samples.summary({ tree: tree.name, peer: OURS, act, changed: 0 });
    const theirs = samples.summary({ tree: tree.name, peer: floor, act: 'floor', changed: 0 });
    if (ours === undefined || theirs === undefined) return [];
    const ratio = ours.median / theirs.median / times;
    const verdict = verdictText(verdictFor(verdicts, floor));
    const name = times === 1 ? floor : `${times} × ${floor}`;
    return [[`${what} / ${name}`, spread(ours), spread(theirs), ratio.toFixed(2), verdict]];
  });
  return table(['ms: median (min–max)', OURS, 'floor, once', 'ratio', 'goal'], cells);
}

/** Whether the next changed file costs as much as the one before. @param {Report} report */
function closeTable({ samples, tree, counts, verdicts }) {
  const steps = ['median', 'min'].map((which) =>
    costOfOneMore(counts, (about) => {
      const summary = samples.summary({ tree: tree.name, ...about });
      return summary?.[which === 'min' ? 'min' : 'median'] ?? Number.NaN;
    }),
  );
  const rows = (steps[0] ?? []).map(({ from, to, cost, judged }, i) => [
    `from ${from} to ${to} changed`,
    figure(cost * 1e3),
    figure((steps[1]?.[i]?.cost ?? Number.NaN) * 1e3),
    judged ? verdictText(verdictFor(verdicts, 'steps')) : 'too few to judge',
  ]);
  return table(['µs for each file more', 'of medians', 'of fastest rounds', 'most/least'], rows);
}

/** Whether what comes last costs more than what comes first. @param {Report} report */
function flatnessTable({ samples, tree, groups, verdicts }) {
  /** @type {[string, number | 'all', string][]} */
  const kinds = [
    ['all changed, per file', 'all', ''],
    ['many turns on 10 files, per turn', 4, ' of turns'],
  ];
  const rows = kinds.flatMap(([what, changed, suffix]) =>
    everyone(groups).flatMap((peer) => {
      /** @param {string} which */
      const get = (which) =>
        samples.summary({ tree: tree.name, peer, act: `${which} quarter${suffix}`, changed });
      const first = get('first');
      const last = get('last');
      if (first === undefined || last === undefined) return [];
      const ratio = last.median / first.median;
      const verdict = peer === OURS ? verdictText(verdictFor(verdicts, `quarter${suffix}`)) : '';
      const spreads = [first, last].map((each) => spread(each, 3));
      return [[`${what}: ${peer}`, ...spreads, ratio.toFixed(2), verdict]];
    }),
  );
  return table(['ms: median (min–max)', 'first quarter', 'last quarter', 'ratio', 'goal'], rows);
}

/** What the peers keep. @param {Report} report */
function sizeTable({ samples, tree, groups }) {
  const rows = everyone(groups).flatMap((peer) => {
    const cells = ['store, first', 'store, all turns'].flatMap((act) =>
      ['bytes', 'files'].map((unit) =>
        samples.summary({ tree: tree.name, peer, act: `${act}: ${unit}`, changed: 0 }),
      ),
    );
    if (cells.every((cell) => cell === undefined)) return [];
    return [[peer, ...cells.map((cell, i) => sizeText(cell, i % 2 === 0))]];
  });
  const header = ['store', 'first: MB', 'files', 'after all turns: MB', 'files'];
  return table(header, rows);
}

/**
 * @param {Report} report
 * @param {Group} group
 * @param {string} what
 * @param {(peer: string, changed: number | 'all') => number} milliseconds
 */
function perFileTable(report, group, what, milliseconds) {
  const header = [`${what}: µs per changed file`, 'kB per file', ...withOurs(group)];
  const rows = report.counts
    .filter((count) => count !== 0)
    .map((changed) => {
      const files = medianOf(report, OURS, 'files', changed);
      const size = medianOf(report, OURS, 'bytes', changed) / files / 1e3;
      const cells = withOurs(group).map((peer) => perFile(milliseconds(peer, changed) / files));
      return [`${changed} changed`, figure(size), ...cells];
    });
  return table(header, rows);
}

/** Blank where it drowns in what one run differs from the next. @param {number} milliseconds */
function perFile(milliseconds) {
  return milliseconds < 0 ? '' : figure(milliseconds * 1e3);
}

/** @param {Report} report @param {string} peer @param {string} act @param {number | 'all'} changed */
function medianOf({ samples, tree }, peer, act, changed) {
  return samples.summary({ tree: tree.name, peer, act, changed })?.median ?? Number.NaN;
}

/**
 * @param {Report} report
 * @param {Group} group
 * @param {{ label: string, act: string, changed: number | 'all' }} what
 */
function actRow({ samples, tree, verdicts }, group, { label, act, changed }) {
  const names = withOurs(group);
  const found = names.map((peer) => samples.summary({ tree: tree.name, peer, act, changed }));
  const [ours, ...theirs] = found.map((summary) => summary?.median ?? Number.NaN);
  const git = group.peers.indexOf(GIT);
  const fastest = Math.min(...theirs.filter((median) => !Number.isNaN(median)));
  const ratio = (ours ?? Number.NaN) / (git === -1 ? fastest : (theirs[git] ?? Number.NaN));
  const key = act === 'first' ? act : `${act} ${changed}`;
  return [
    label,
    ...found.map((summary) => spread(summary)),
    ratio > 0 ? ratio.toFixed(2) : '',
    ...(git === -1 ? [] : [verdictText(verdictFor(verdicts, key))]),
  ];
}

/** @param {import('./measure.mjs').Summary | undefined} summary @param {boolean} isBytes */
function sizeText(summary, isBytes) {
  if (summary === undefined) return '';
  return isBytes ? (summary.median / 1e6).toFixed(1) : String(summary.median);
}

/** @param {Group} group */
function withOurs({ peers }) {
  return [OURS, ...peers];
}

/** @param {readonly Group[]} groups */
function everyone(groups) {
  return [OURS, ...groups.flatMap(({ peers }) => peers)];
}

const OURS = 'preimage';
const GIT = 'shadow git';
