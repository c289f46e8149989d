// @ts-check
import { verdictFor } from './goals.mjs';

/** A Markdown table, padded so that it also reads well as text. @param {string[]} header @param {string[][]} rows */
export function table(header, rows) {
  const widths = header.map((head, i) =>
    Math.max(head.length, ...rows.map((row) => row[i]?.length ?? 0)),
  );
  /** @param {string[]} cells */
  const line = (cells) =>
    `| ${cells.map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0))).join(' | ')} |`;
  const rule = `| ${widths.map((width, i) => (i === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`)).join(' | ')} |`;
  return [line(header), rule, ...rows.map(line)].join('\n');
}

/** @param {import('./measure.mjs').Summary | undefined} summary @param {number} [digits] */
export function spread(summary, digits) {
  if (summary === undefined) return '';
  const { median, min, max, count } = summary;
  if (count === 1) return figure(median, digits);
  return `${figure(median, digits)} (${figure(min, digits)}–${figure(max, digits)})`;
}

/** @param {number} value @param {number} [digits] */
export function figure(value, digits) {
  if (Number.isNaN(value)) return '';
  return value.toFixed(digits ?? (Math.abs(value) < 10 ? 1 : 0));
}

/** @param {import('./goals.mjs').Verdict | undefined} verdict */
export function verdictText(verdict) {
  if (verdict === undefined) return '';
  const { goal, met } = verdict;
  return `≤ ${goal.atMost}${UNITS[goal.unit]} ${met ? 'met' : 'MISSED'}`;
}

/** @param {readonly import('./goals.mjs').Verdict[]} verdicts */
export function goalsTable(verdicts) {
  const rows = verdicts.map((verdict) => {
    const { goal, value, fastest } = verdict;
    const digits = goal.unit === 'ratio' ? 2 : 1;
    const figures = [value, fastest].map((each) => `${each.toFixed(digits)}${UNITS[goal.unit]}`);
    return [goal.text, ...figures, verdictText(verdict)];
  });
  return table(['goal', 'of medians', 'of fastest rounds', ''], rows);
}

/**
 * What programs take, and how much of that is above the least one.
 * @param {import('./measure.mjs').Samples} samples
 * @param {{ what: string, act: string, least: string }} about
 * @param {readonly import('./goals.mjs').Verdict[]} verdicts
 */
export function startUpTable(samples, { what, act, least }, verdicts) {
  const figures = samples.all().filter((each) => each.act === act);
  const floor = figures.find(({ peer }) => peer === least)?.median ?? 0;
  const rows = figures.map((each) => [
    each.peer,
    spread(each),
    figure(each.median - floor),
    verdictText(verdictFor(verdicts, each.peer)),
  ]);
  return table([`${what}ms: median (min–max)`, 'time', `above ${least}`, 'goal'], rows);
}

/**
 * Acts of ours, each in a process of its own.
 * @param {{ samples: import('./measure.mjs').Samples, tree: string, files: number }} from
 * @param {readonly string[]} acts
 * @param {readonly import('./goals.mjs').Verdict[]} verdicts
 */
export function aloneTable({ samples, tree, files }, acts, verdicts) {
  const rows = acts.map((act) => {
    /** @param {string} what */
    const get = (what) => samples.summary({ tree, peer: 'preimage', act: what, changed: 0 });
    const time = get(`alone ${act}`);
    const goals = [act, `memory ${act}`].map((row) => verdictText(verdictFor(verdicts, row)));
    return [
      act,
      spread(time),
      figure(((time?.median ?? Number.NaN) / files) * 1e3),
      spread(get(`memory ${act}`)),
      goals.filter((text) => text !== '').join(', '),
    ];
  });
  const header = [
    'in a process of its own',
    'ms: median (min–max)',
    'µs a file',
    'peak MB',
    'goal',
  ];
  return table(header, rows);
}

/** @type {Record<import('./goals.mjs').Unit, string>} */
const UNITS = { ratio: '', ms: ' ms', MB: ' MB', µs: ' µs' };
