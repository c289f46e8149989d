import type { Command } from 'commander';
import { openHook } from '../../index.js';
import type { Context } from '../context.js';
import { openedJson, printJson } from '../json.js';
import {
  addScanOptions,
  budgetOf,
  type CommonOptions,
  rulesOf,
  type ScanOptions,
  whichOf,
} from '../options.js';
import { Progress } from '../progress.js';

type Options = CommonOptions & ScanOptions & { readonly turn: string; readonly label?: string };

/** `preimage open`: opens a step that a later call closes. */
export function define(command: Command, context: Context): void {
  addScanOptions(
    command
      .summary('open a step of a turn; close it with close')
      .description(
        'Makes every file safe and returns: for hooks that run before a tool is used. ' +
          'A turn may be opened and closed many times; a rewind goes back to its first opening.',
      )
      .requiredOption('--turn <id>', 'the turn’s id')
      .option('--label <text>', 'what the turn is about'),
  )
    .addHelpText(
      'after',
      '\nExample:\n  preimage open --turn fix-css && make css && preimage close --turn fix-css',
    )
    .action(async (options: Options) => {
      const progress = new Progress(options.quiet === true);
      const opened = await openHook({
        ...whichOf(options),
        ...rulesOf(options),
        ...budgetOf(options),
        turn: options.turn,
        ...(options.label === undefined ? {} : { label: options.label }),
        watcher: options.watch === false ? 'none' : 'default',
        host: context.host,
        onProgress: (scanned) => {
          progress.scan(scanned);
        },
      }).finally(() => {
        progress.end();
      });
      for (const warning of opened.scanned.warnings) {
        process.stderr.write(`preimage: warning: ${warning}\n`);
      }
      if (options.json === true) printJson(openedJson(opened));
      else if (options.quiet !== true) {
        process.stdout.write(`turn ${opened.record.turn}: step ${opened.record.step} is open\n`);
      }
      context.exitCode = 0;
    });
}
