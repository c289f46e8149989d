import type { Command } from 'commander';
import type { Context } from '../context.js';
import { EXIT } from '../errors.js';
import { printJson, rewindJson } from '../json.js';
import type { CommonOptions } from '../options.js';
import { Progress } from '../progress.js';
import { rewindLines } from '../text.js';
import { withStore } from '../with-store.js';

type Options = CommonOptions & {
  readonly dryRun?: boolean;
  readonly force?: boolean;
  readonly git?: boolean;
  readonly merge?: boolean;
  readonly preserveMtime?: boolean;
};

/** `preimage rewind`: puts the workspace back. */
export function define(command: Command, context: Context): void {
  command
    .summary('put the workspace back to before a turn')
    .description(
      'Puts the workspace (or some paths) back to how it was when a turn opened, ' +
        'later turns included. ' +
        'What somebody else changed since is left alone and named; redo takes a rewind back.',
    )
    .argument('[turn]', 'the turn’s id (default: the newest that is not rewound)')
    .argument('[path...]', 'only these paths and what is below them')
    .option('--dry-run', 'say what would be done and change nothing')
    .option('--force', 'put back what is in conflict as well; it is captured first')
    .option('--merge', 'keep later edits of a text file where they merge with what is put back')
    .option('--git', 'put back .git as well')
    .option('--preserve-mtime', 'give files their old modification time (default: now)')
    .addHelpText(
      'after',
      '\nExample:\n  preimage rewind t1 --dry-run\n  preimage rewind t1 src/app.js\n' +
        '  preimage rewind t1 --merge',
    )
    .action(async (turn: string | undefined, paths: string[], options: Options) => {
      const dryRun = options.dryRun === true;
      const progress = new Progress(options.quiet === true);
      const request = {
        ...(turn === undefined ? {} : { turn }),
        paths,
        force: options.force === true,
        git: options.git === true,
        merge: options.merge === true,
        preserveMtime: options.preserveMtime === true,
        onProgress: (done: number, total: number) => {
          progress.rewind(done, total);
        },
      };
      const result = await withStore(options, (store) =>
        dryRun ? store.planRewind(request) : store.rewind(request),
      ).finally(() => {
        progress.end();
      });
      if (options.json === true) printJson(rewindJson(result));
      else if (options.quiet !== true || !result.complete) {
        const verb = dryRun ? 'would rewind' : result.complete ? 'rewound' : 'rewound in part:';
        const lines = rewindLines(result, { verb, dryRun, verbose: options.quiet !== true });
        process.stdout.write(`${lines.join('\n')}\n`);
      }
      context.exitCode = result.complete ? EXIT.done : EXIT.incomplete;
    });
}
