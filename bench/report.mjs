// @ts-check
import { verdictFor } from './goals.mjs';

/**
 * @typedef {import('./measure.mjs').Summary} Summary
 * @typedef {{
 *   samples: import('./measure.mjs').Samples,
 *   tree: import('./trees.mjs').Tree,
 *   peers: readonly string[],
 *   counts: readonly (number | 'all')[],
 *   verdicts: readonly import('./goals.mjs').Verdict[],
 * }} Report
 */

/** What preimage and the peers take, with ratios. @param {Report} report */
export function actsTable(report) {
  const { peers, counts } = report;
  const header = ['ms: median (min–max)', ...peers, 'ours/git', 'goal'];
  /** @type {string[][]} */
  const rows = [actRow(report, 'first capture of the tree', 'first', 0)];
  for (const n of counts) rows.push(actRow(report, `before + after, ${n} changed`, 'turn', n));
  for (const n of counts) rows.push(actRow(report, `  before, ${n} changed`, 'before', n));
  for (const n of counts) rows.push(actRow(report, `  after, ${n} changed`, 'after', n));
  for (const n of counts) {
    if (n !== 0) rows.push(actRow(report, `undo, ${n} changed`, 'restore', n));
  }
  return table(header, rows);
}

/**
 * What one changed file adds to a turn that changes nothing: a small difference of large figures, so
 * it is taken between the fastest rounds.
 * @param {Report} report
 */
export function turnPerFileTable(report) {
  const { samples, tree } = report;
  return perFileTable(report, 'before + after, fastest', (peer, changed) => {
    /** @param {number | 'all'} n */
    const fastest = (n) => samples.summary({ tree: tree.name, peer, act: 'turn', changed: n })?.min;
    return (fastest(changed) ?? Number.NaN) - (fastest(0) ?? 0);
  });
}

/** What undoing one changed file takes. @param {Report} report */
export function undoPerFileTable(report) {
  return perFileTable(report, 'undo', (peer, changed) =>
    medianOf(report, peer, 'restore', changed),
  );
}

/** Whether what comes last costs more than what comes first. @param {Report} report */
export function flatnessTable({ samples, tree, peers, verdicts }) {
  /** @type {[string, number | 'all', string][]} */
  const kinds = [
    ['all changed, per file', 'all', ''],
    ['many turns on 10 files, per turn', 4, ' of turns'],
  ];
  const rows = kinds.flatMap(([what, changed, suffix]) =>
    peers.flatMap((peer) => {
      /** @param {string} which */
      const get = (which) =>
        samples.summary({ tree: tree.name, peer, act: `${which} quarter${suffix}`, changed });
      const first = get('first');
      const last = get('last');
      if (first === undefined || last === undefined) return [];
      const ratio = last.median / first.median;
      const act = `last quarter${suffix}`;
      const verdict = peer === 'preimage' ? verdictText(verdictFor(verdicts, act, changed)) : '';
      const spread = [first, last].map((s) => spreadText(s, 3));
      return [[`${what}: ${peer}`, ...spread, ratio.toFixed(2), verdict]];
    }),
  );
  return table(['ms: median (min–max)', 'first quarter', 'last quarter', 'ratio', 'goal'], rows);
}

/** What the peers keep. @param {Report} report */
export function sizeTable({ samples, tree, peers }) {
  const rows = peers.flatMap((peer) => {
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

/** @param {readonly import('./start-up.mjs').Figure[]} figures */
export function startUpTable(figures) {
  const floor = figures.find(({ name }) => name === 'true')?.summary.median ?? 0;
  const rows = figures.map(({ name, summary }) => [
    name,
    spreadText(summary),
    figure(summary.median - floor),
  ]);
  return table(['whole processes, ms: median (min–max)', 'time', 'above true'], rows);
}

/** @param {readonly import('./goals.mjs').Verdict[]} verdicts */
export function goalsTable(verdicts) {
  const rows = verdicts.map((verdict) => {
    const { goal, ratio, fastest, met } = verdict;
    const figures = [ratio, fastest].map((value) => value.toFixed(2));
    return [goal.text, ...figures, `≤ ${goal.atMost} ${met ? 'met' : 'MISSED'}`];
  });
  return table(['goal', 'ratio of medians', 'of fastest rounds', ''], rows);
}

/**
 * @param {Report} report
 * @param {string} what
 * @param {(peer: string, changed: number | 'all') => number} milliseconds
 */
function perFileTable(report, what, milliseconds) {
  const header = [`${what}: µs per changed file`, 'kB per file', ...report.peers];
  const rows = report.counts
    .filter((count) => count !== 0)
    .map((changed) => {
      const files = medianOf(report, 'preimage', 'files', changed);
      const size = medianOf(report, 'preimage', 'bytes', changed) / files / 1e3;
      const cells = report.peers.map((peer) => figure((milliseconds(peer, changed) / files) * 1e3));
      return [`${changed} changed`, figure(size), ...cells];
    });
  return table(header, rows);
}

/** @param {Report} report @param {string} peer @param {string} act @param {number | 'all'} changed */
function medianOf({ samples, tree }, peer, act, changed) {
  return samples.summary({ tree: tree.name, peer, act, changed })?.median ?? Number.NaN;
}

/** @param {Report} report @param {string} label @param {string} act @param {number | 'all'} changed */
function actRow({ samples, tree, peers, verdicts }, label, act, changed) {
  const found = peers.map((peer) => samples.summary({ tree: tree.name, peer, act, changed }));
  const ours = found[peers.indexOf('preimage')];
  const git = found[peers.indexOf('shadow git')];
  const ratio = ours === undefined || git === undefined ? Number.NaN : ours.median / git.median;
  return [
    label,
    ...found.map((summary) => (summary === undefined ? '' : spreadText(summary))),
    ratio.toFixed(2),
    verdictText(verdictFor(verdicts, act, changed)),
  ];
}

/** @param {import('./goals.mjs').Verdict | undefined} verdict */
function verdictText(verdict) {
  if (verdict === undefined) return '';
  return `≤ ${verdict.goal.atMost} ${verdict.met ? 'met' : 'MISSED'}`;
}

/** @param {Summary} summary @param {number} [digits] */
function spreadText({ median, min, max, count }, digits) {
  if (count === 1) return figure(median, digits);
  return `${figure(median, digits)} (${figure(min, digits)}–${figure(max, digits)})`;
}

/** @param {Summary | undefined} summary @param {boolean} isBytes */
function sizeText(summary, isBytes) {
  if (summary === undefined) return '';
  return isBytes ? (summary.median / 1e6).toFixed(1) : String(summary.median);
}

/** @param {number} value @param {number} [digits] */
function figure(value, digits) {
  if (Number.isNaN(value)) return '';
  return value.toFixed(digits ?? (Math.abs(value) < 10 ? 1 : 0));
}

/** A Markdown table, padded so that it also reads well as text. @param {string[]} header @param {string[][]} rows */
function table(header, rows) {
  const widths = header.map((head, i) =>
    Math.max(head.length, ...rows.map((row) => row[i]?.length ?? 0)),
  );
  /** @param {string[]} cells */
  const line = (cells) =>
    `| ${cells.map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0))).join(' | ')} |`;
  const rule = `| ${widths.map((width, i) => (i === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`)).join(' | ')} |`;
  return [line(header), rule, ...rows.map(line)].join('\n');
}
