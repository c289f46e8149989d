import type { Command } from 'commander';
import { formatSize, type Stats } from '../../index.js';
import type { Context } from '../context.js';
import { printJson } from '../json.js';
import { type CommonOptions, toDuration } from '../options.js';
import { tint } from '../style.js';
import { countsText, localTime } from '../text.js';
import { withStore } from '../with-store.js';

type Options = CommonOptions & { readonly since?: number };

/** `preimage stats`: what was recorded, in figures. */
export function define(command: Command, context: Context): void {
  command
    .summary('sum up the turns: files, bytes, lines, rewinds')
    .description(
      'Sums up the turns that were at work in a time, each with all of its steps. ' +
        'What is in .git is counted by itself.',
    )
    .option('--since <time>', 'only turns at work so long ago or later, such as 30d', toDuration)
    .addHelpText('after', '\nExample:\n  preimage stats --since 30d')
    .action(async (options: Options) => {
      const since = options.since === undefined ? 0 : Date.now() - options.since;
      const stats = await withStore(options, (store) => store.stats(since));
      if (options.json === true) printJson({ ...stats, since: stats.since || null });
      else process.stdout.write(`${lines(stats).join('\n')}\n`);
      context.exitCode = 0;
    });
}

function lines(stats: Stats): string[] {
  const { turns, steps, files, gitFiles, counts, bytes, rewinds, redos, rewound } = stats;
  const { added, removed, uncounted } = stats.lines;
  const notCounted = uncounted === 0 ? '' : `; of ${uncounted} not counted: no text or too large`;
  const inGit = gitFiles === 0 ? '' : `, and ${gitFiles} in .git`;
  const rows = [
    ['since', stats.since === '' ? 'the first turn' : localTime(stats.since)],
    ['turns', `${turns}${rewound === 0 ? '' : `, ${rewound} of them rewound`}`],
    ['steps', `${steps}`],
    ['files', `${files}${inGit}`],
    ['changes', countsText(counts)],
    ['bytes', `${formatSize(bytes.before)} before, ${formatSize(bytes.after)} after`],
    ['lines', `${added} added, ${removed} removed${notCounted}`],
    ['rewinds', `${rewinds}${redos === 0 ? '' : `, ${redos} taken back`}`],
    ...(stats.dropped === 0 ? [] : [['pruned', `${stats.dropped} older turns, not counted`]]),
  ];
  return rows.map(([name = '', text]) => `${tint('faint', name.padEnd(7))}  ${text}`);
}
