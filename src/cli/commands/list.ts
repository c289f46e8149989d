import type { Command } from 'commander';
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
      await withStore(options, (store) => {
        const turns = store.list();
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
