import type { Command } from 'commander';
import { PreimageError } from '../../index.js';
import type { Context } from '../context.js';
import { imageJson, printJson } from '../json.js';
import type { CommonOptions } from '../options.js';
import { withStore } from '../with-store.js';

/** `preimage cat`: the exact bytes of one image. */
export function define(command: Command, context: Context): void {
  command
    .summary('print the bytes of a file before (or after) a turn')
    .description('Prints the exact bytes that a file had when the turn opened.')
    .argument('<turn>', 'the turn’s id')
    .argument('<path>', 'the file')
    .option('--post', 'the bytes that it had when the turn closed')
    .addHelpText('after', '\nExample:\n  preimage cat t1 styles.css > styles.old.css')
    .action(async (turn: string, path: string, options: CommonOptions & { post?: boolean }) => {
      await withStore(options, (store) => {
        const side = options.post === true ? 'post' : 'pre';
        const image = store.image(turn, path, side);
        if (options.json === true) {
          printJson(imageJson(image));
          return;
        }
        if (image.kind === 'content' && image.type === 'file') {
          process.stdout.write(store.read(image));
        } else if (image.kind === 'content' && image.type === 'symlink') {
          process.stdout.write(Buffer.from(image.target, 'latin1'));
        } else {
          const when = side === 'pre' ? 'before' : 'after';
          const what =
            image.kind === 'absent'
              ? 'did not exist'
              : image.kind === 'skipped'
                ? `was not captured (${image.reason})`
                : 'was a directory';
          throw new PreimageError('no-such-turn', `${path} ${what} ${when} turn ${turn}.`);
        }
      });
      context.exitCode = 0;
    });
}
