import type { Command } from 'commander';
import { formatSize, type PruneResult, type Retention } from '../../index.js';
import type { Context } from '../context.js';
import { EXIT } from '../errors.js';
import { printJson, pruneJson } from '../json.js';
import { type CommonOptions, toCount, toDuration, toSize } from '../options.js';
import { withStore } from '../with-store.js';

type Options = CommonOptions & {
  readonly keep?: number;
  readonly olderThan?: number;
  readonly maxSize?: number;
  readonly dryRun?: boolean;
};

/** `preimage prune`: drops old turns and what nothing needs. */
export function define(command: Command, context: Context): void {
  command
    .summary('drop old turns and what nothing needs any more')
    .description(
      'Drops the oldest turns that pass a limit, and every byte that nothing needs any more. ' +
        'Without a limit those of the settings hold (see status), else only those that are given. ' +
        'The newest turn stays. What is dropped cannot be rewound any more.',
    )
    .option('--keep <n>', 'keep so many turns', toCount)
    .option(
      '--older-than <time>',
      'drop turns that were closed longer ago, such as 30d',
      toDuration,
    )
    .option(
      '--max-size <size>',
      'drop turns until the history takes no more, such as 5GB; ' +
        'the one copy of the workspace as it stands is not counted',
      toSize,
    )
    .option('--dry-run', 'say what would go and drop nothing')
    .addHelpText(
      'after',
      '\nExample:\n  preimage prune --keep 20 --dry-run\n  preimage prune --older-than 30d',
    )
    .action(async (options: Options) => {
      const dryRun = options.dryRun === true;
      const limits: Partial<Retention> = {
        ...(options.keep === undefined ? {} : { keep: options.keep }),
        ...(options.olderThan === undefined ? {} : { olderThan: options.olderThan }),
        ...(options.maxSize === undefined ? {} : { maxSize: options.maxSize }),
      };
      const result = await withStore(options, (store) =>
        dryRun ? store.planPrune(limits) : store.prune(limits),
      );
      if (options.json === true) printJson(pruneJson(result, dryRun));
      else if (options.quiet !== true) {
        process.stdout.write(`${pruneLines(result, dryRun).join('\n')}\n`);
      }
      // Nothing to drop is no failure: this is upkeep, to be run again and again.
      context.exitCode = result.notes.length === 0 ? EXIT.done : EXIT.incomplete;
    });
}

function pruneLines(result: PruneResult, dryRun: boolean): string[] {
  const { turns, kept, freed, waiting, history, notes } = result;
  const lines = turns.map((turn) => `${dryRun ? 'would drop' : 'dropped'}  ${turn}`);
  const count = turns.length === 1 ? '1 turn' : `${turns.length} turns`;
  const what =
    turns.length === 0 ? 'no turn to drop' : `${count} ${dryRun ? 'would go' : 'dropped'}`;
  const space = `${formatSize(freed)} ${dryRun ? 'would come free' : 'freed'}`;
  const rest = `${kept} ${kept === 1 ? 'turn' : 'turns'} kept, ${formatSize(history)} of history`;
  lines.push(`${what}, ${space}; ${rest}`);
  if (waiting > 0) {
    lines.push(
      `${formatSize(waiting)} more go in an hour or when no step is open, by a later prune`,
    );
  }
  return [...lines, ...notes.map((note) => `not done: ${note}`)];
}
