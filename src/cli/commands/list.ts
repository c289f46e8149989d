import type { Command } from 'commander';
import { PreimageError, type TurnSummary } from '../../index.js';
import type { Context } from '../context.js';
import { printJson, summaryJson } from '../json.js';
import type { CommonOptions } from '../options.js';
import { summaryLine } from '../text.js';
import { withStore } from '../with-store.js';

/** `preimage list`: the turns, newest first. */
export function define(command: Command, context: Context): void {
  command
    .summary('list the turns, newest first')
    .description('Lists the turns, newest first, with what each changed.')
    .addHelpText('after', '\nExample:\n  preimage list')
    .action(async (options: CommonOptions) => {
      await withHistory(options, (turns) => {
        if (options.json === true) {
          printJson({ turns: turns.map(summaryJson) });
          return;
        }
        const width = Math.max(0, ...turns.map(({ turn }) => turn.length));
        for (const turn of turns) process.stdout.write(`${summaryLine(turn, width)}\n`);
      });
      context.exitCode = 0;
    });
}

/** A workspace in which nothing was recorded has an empty list: that is no error. */
async function withHistory(
  options: CommonOptions,
  run: (turns: readonly TurnSummary[]) => void,
): Promise<void> {
  try {
    await withStore(options, (store) => {
      run(store.list());
    });
  } catch (error) {
    if (!(error instanceof PreimageError) || error.code !== 'no-such-turn') throw error;
    run([]);
    if (options.json !== true && options.quiet !== true) {
      process.stderr.write(`preimage: ${error.message}\n  ${error.hint}\n`);
    }
  }
}
