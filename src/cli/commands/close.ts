import type { Command } from 'commander';
import { closeTurn, countChanges, openStore } from '../../index.js';
import type { Context } from '../context.js';
import { printJson, turnJson } from '../json.js';
import { type CommonOptions, whichOf } from '../options.js';
import { Progress } from '../progress.js';
import { countsText } from '../text.js';

/** `preimage close`: closes what `open` opened. */
export function define(command: Command, context: Context): void {
  command
    .summary('close the open step of a turn')
    .description('Finds exactly what changed since the step was opened and records it.')
    .requiredOption('--turn <id>', 'the turn’s id')
    .addHelpText('after', '\nExample:\n  preimage close --turn fix-css --json')
    .action(async (options: CommonOptions & { readonly turn: string }) => {
      const progress = new Progress(options.quiet === true);
      const { changes, record, notes } = await closeTurn({
        ...whichOf(options),
        turn: options.turn,
        onProgress: (scanned) => {
          progress.scan(scanned);
        },
      }).finally(() => {
        progress.end();
      });
      for (const warning of [...record.warnings, ...notes]) {
        process.stderr.write(`preimage: warning: ${warning}\n`);
      }
      if (options.json === true) {
        const store = openStore(whichOf(options));
        printJson(turnJson(store.show(options.turn)));
        store.close();
      } else if (options.quiet !== true) {
        const undo = changes.length === 0 ? '' : `; undo: preimage rewind ${options.turn}`;
        const counts = countsText(countChanges(changes));
        process.stdout.write(`turn ${options.turn}: ${counts}${undo}\n`);
      }
      context.exitCode = 0;
    });
}
