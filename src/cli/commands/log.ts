import type { Command } from 'commander';
import { PreimageError, printable } from '../../index.js';
import type { Context } from '../context.js';
import { changeJson, printJson, summaryJson } from '../json.js';
import type { CommonOptions } from '../options.js';
import { changeLine, summaryLine } from '../text.js';
import { withStore } from '../with-store.js';

/** `preimage log`: the turns that touched a path. */
export function define(command: Command, context: Context): void {
  command
    .summary('list the turns that touched a path')
    .description('Lists the turns that touched a path or anything below it, newest first.')
    .argument('<path>', 'a file or a directory')
    .addHelpText('after', '\nExample:\n  preimage log src')
    .action(async (path: string, options: CommonOptions) => {
      await withStore(options, (store) => {
        const touching = store.log(path);
        if (options.json === true) {
          const turns = touching.map(({ turn, files }) => ({
            ...summaryJson(turn),
            files: files.map(changeJson),
          }));
          printJson({ turns });
          return;
        }
        if (touching.length === 0) {
          throw new PreimageError(
            'nothing-to-do',
            `No turn touched ${printable(store.resolve(path))}.`,
          );
        }
        const width = Math.max(...touching.map(({ turn }) => turn.turn.length));
        for (const { turn, files } of touching) {
          process.stdout.write(`${summaryLine(turn, width)}\n`);
          for (const file of files) process.stdout.write(`  ${changeLine(file)}\n`);
        }
      });
      context.exitCode = 0;
    });
}
