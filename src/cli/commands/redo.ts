import type { Command } from 'commander';
import type { Context } from '../context.js';
import { EXIT } from '../errors.js';
import { printJson, rewindJson } from '../json.js';
import type { CommonOptions } from '../options.js';
import { Progress } from '../progress.js';
import { rewindLines } from '../text.js';
import { withStore } from '../with-store.js';

type Options = CommonOptions & { readonly force?: boolean; readonly preserveMtime?: boolean };

/** `preimage redo`: takes the last rewind back. */
export function define(command: Command, context: Context): void {
  command
    .summary('take the last rewind back')
    .description('Brings back what the last rewind put away; again for the one before it.')
    .option('--force', 'bring back what was changed since as well; it is captured first')
    .option('--preserve-mtime', 'give files their old modification time (default: now)')
    .addHelpText('after', '\nExample:\n  preimage rewind && preimage redo')
    .action(async (options: Options) => {
      const progress = new Progress(options.quiet === true);
      const result = await withStore(options, (store) =>
        store.redo({
          force: options.force === true,
          preserveMtime: options.preserveMtime === true,
          onProgress: (done, total) => {
            progress.rewind(done, total);
          },
        }),
      ).finally(() => {
        progress.end();
      });
      if (options.json === true) printJson(rewindJson(result));
      else if (options.quiet !== true || !result.complete) {
        const lines = rewindLines(result, {
          verb: 'brought back',
          dryRun: false,
          verbose: options.quiet !== true,
        });
        process.stdout.write(`${lines.join('\n')}\n`);
      }
      context.exitCode = result.complete ? EXIT.done : EXIT.incomplete;
    });
}
