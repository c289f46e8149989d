import type { Command } from 'commander';
import type { Context } from '../context.js';
import { changeJson, printJson } from '../json.js';
import type { CommonOptions } from '../options.js';
import { wantsColor } from '../style.js';
import { patchOf } from '../unified-diff.js';
import { withStore } from '../with-store.js';

/** `preimage diff`: what a turn changed, as a patch. */
export function define(command: Command, context: Context): void {
  command
    .summary('print what a turn changed as a unified diff')
    .description('Prints a patch from before the turn to after it, as git apply takes it.')
    .argument('<turn>', 'the turn’s id')
    .argument('[path...]', 'only these paths and what is below them')
    .addHelpText('after', '\nExample:\n  preimage diff t1 > t1.patch')
    .action(async (turn: string, paths: string[], options: CommonOptions) => {
      await withStore(options, (store) => {
        const wanted = paths.map((path) => store.resolve(path));
        const files = store
          .show(turn)
          .files.filter(
            ({ path }) =>
              wanted.length === 0 ||
              wanted.some((want) => want === '' || path === want || path.startsWith(`${want}/`)),
          );
        const terminal = process.stdout.isTTY === true;
        const patches = files.map((file) => ({
          file,
          patch: patchOf(file, {
            read: (image) => store.read(image).toString('latin1'),
            color: options.json !== true && wantsColor(process.stdout),
            showControls: options.json !== true && terminal,
          }),
        }));
        if (options.json === true) {
          const documents = patches.map(({ file, patch }) => ({
            ...changeJson(file),
            diff: Buffer.from(patch, 'latin1').toString('utf8'),
          }));
          printJson({ turn, files: documents });
          return;
        }
        for (const { patch } of patches) process.stdout.write(Buffer.from(patch, 'latin1'));
      });
      context.exitCode = 0;
    });
}
