import { resolve } from 'node:path';
import type { Command } from 'commander';
import { formatSize, printableText } from '../../index.js';
import type { Context } from '../context.js';
import { printJson } from '../json.js';
import type { CommonOptions } from '../options.js';
import { withStore } from '../with-store.js';

/** `preimage export`: a turn as a plain directory. */
export function define(command: Command, context: Context): void {
  command
    .summary('write a turn as a plain checkpoint directory')
    .description(
      'Writes index.json and blobs/<sha256>, uncompressed: restorable without preimage. ' +
        'It holds the old bytes of everything that the turn touched, secrets included.',
    )
    .argument('<turn>', 'the turn’s id')
    .requiredOption('--out <dir>', 'a directory that does not exist yet, or is empty')
    .addHelpText('after', '\nExample:\n  preimage export t1 --out ../t1-checkpoint')
    .action(async (turn: string, options: CommonOptions & { readonly out: string }) => {
      const out = resolve(options.out);
      const exported = await withStore(options, (store) => store.export(turn, out));
      if (options.json === true) printJson({ turn, out, ...exported });
      else if (options.quiet !== true) {
        const { files, blobs, bytes } = exported;
        const what = `${files} paths and ${blobs} blobs, ${formatSize(bytes)}`;
        process.stdout.write(`${printableText(out)}: ${what}\n`);
      }
      context.exitCode = 0;
    });
}
