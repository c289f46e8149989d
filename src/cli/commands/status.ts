import type { Command } from 'commander';
import {
  formatDuration,
  formatSize,
  printable,
  printableText,
  type Retention,
  type Status,
  workspaceStatus,
} from '../../index.js';
import type { Context } from '../context.js';
import { printJson, statusJson } from '../json.js';
import { type CommonOptions, whichOf } from '../options.js';
import { localTime } from '../text.js';

/** `preimage status`: how the workspace stands. */
export function define(command: Command, context: Context): void {
  command
    .summary('show the workspace, its store and what is left out')
    .description('Shows the workspace, its store, open turns, and what is not captured and why.')
    .addHelpText('after', '\nExample:\n  preimage status')
    .action(async (options: CommonOptions) => {
      const status = await workspaceStatus(whichOf(options));
      if (options.json === true) printJson(statusJson(status));
      else process.stdout.write(`${statusLines(status).join('\n')}\n`);
      context.exitCode = 0;
    });
}

function statusLines(status: Status): string[] {
  const { baseline, sizes, rules } = status;
  const rows: (readonly [string, string])[] = [
    ['root', printable(status.root)],
    ['store', printableText(status.store)],
  ];
  if (!status.exists) {
    rows.push(['turns', 'none yet; record one with: preimage watch -- COMMAND']);
  } else {
    rows.push(['turns', String(status.turns)]);
    for (const { turn, step, at } of status.openTurns) {
      rows.push(['open', `${turn} (step ${step}) since ${localTime(at)}`]);
    }
    for (const { turn, step, left } of status.recovered) {
      rows.push(['recovered', `${turn} (step ${step}): it was left open and is closed now`]);
      for (const { path, outcome, reason } of left) {
        rows.push([outcome, `${printable(path)}  ${printableText(reason)}`]);
      }
    }
    rows.push([
      'baseline',
      baseline === 'none'
        ? 'none'
        : `${baseline.files} files, ${formatSize(baseline.bytes)}, ${localTime(baseline.at)}`,
    ]);
    const { files, bytes } = status.overBudget;
    if (files > 0) {
      const what = `${files} ${files === 1 ? 'file' : 'files'} (${formatSize(bytes)})`;
      const why = `not copied in time: over the time budget`;
      rows.push(['warning', `${what} ${why}; the next opening goes on with them`]);
    }
    const { packs, manifests, log } = sizes;
    rows.push([
      'sizes',
      `packs ${formatSize(packs)}, manifests ${formatSize(manifests)}, log ${formatSize(log)}`,
    ]);
    if (sizes.trash > 0) rows.push(['', `pruned and not yet deleted ${formatSize(sizes.trash)}`]);
    rows.push(['watcher', status.watcher]);
    if (status.scan.by === 'watchman') rows.push(['scan', scanText(status.scan)]);
  }
  rows.push(['keeps', retentionText(status.retention)]);
  rows.push(['max file', rules.maxFile === 0 ? 'no limit' : formatSize(rules.maxFile)]);
  for (const glob of rules.include) rows.push(['include', printableText(glob)]);
  for (const glob of rules.exclude) rows.push(['exclude', printableText(glob)]);
  rows.push(['left out', 'unless included: node_modules, __pycache__, virtual environments,']);
  rows.push(['', 'caches (CACHEDIR.TAG)']);
  for (const { path, reason } of status.leftOut) {
    rows.push(['', `${printable(path)}  (${printableText(reason)})`]);
  }
  const more = status.leftOutCount - status.leftOut.length;
  if (more > 0) rows.push(['', `and ${more} more`]);
  for (const limit of status.limits) rows.push(['limit', limit]);
  return rows.map(([name, value]) => `${name.padEnd(10)} ${value}`);
}

function scanText({ last }: Status['scan']): string {
  if (last === undefined) return 'watchman, from the next open on';
  if (last.named !== null) return `watchman named ${last.named} paths at the last open`;
  return `every file was looked at, though watchman is set: ${printableText(last.reason)}`;
}

function retentionText({ keep, olderThan, maxSize }: Retention): string {
  const limits = [
    ...(keep === 0 ? [] : [`${keep} turns`]),
    ...(olderThan === 0 ? [] : [formatDuration(olderThan)]),
    ...(maxSize === 0 ? [] : [`${formatSize(maxSize)} of history`]),
  ];
  return limits.length === 0 ? 'all turns' : `${limits.join(', ')}; older turns are dropped`;
}
