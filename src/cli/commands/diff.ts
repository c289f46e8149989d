import type { Command } from 'commander';
import { makePatch, type Patch, type SquashedChange, type Store } from '../../index.js';
import type { Context } from '../context.js';
import { changeJson, printJson } from '../json.js';
import type { CommonOptions } from '../options.js';
import { wantsColor } from '../style.js';
import { patchText } from '../unified-diff.js';
import { withStore } from '../with-store.js';

type Options = CommonOptions & { readonly binary?: boolean };

/** `preimage diff`: what a turn changed, as a patch. */
export function define(command: Command, context: Context): void {
  command
    .summary('print what a turn changed as a unified diff')
    .description(
      'Prints a patch from before the turn to after it, as git apply takes it. ' +
        'What is not captured, or is too large, is named in a line of comment.',
    )
    .argument('<turn>', 'the turn’s id')
    .argument('[path...]', 'only these paths and what is below them')
    .option('--binary', 'write binary files in full, for git apply, instead of naming them')
    .addHelpText(
      'after',
      '\nExample:\n  preimage diff t1 > t1.patch\n  preimage diff t1 --binary | git apply --reverse',
    )
    .action(async (turn: string, paths: string[], options: Options) => {
      await withStore(options, (store) => {
        const files = chosen(store, turn, paths);
        const make = (file: SquashedChange): Patch =>
          makePatch(file, (image) => store.read(image), { binary: options.binary === true });
        if (options.json === true) {
          printJson({ turn, files: files.map((file) => patchJson(file, make(file))) });
          return;
        }
        const paint = {
          color: wantsColor(process.stdout),
          showControls: process.stdout.isTTY === true,
        };
        for (const file of files) {
          const text = patchText(make(file), paint);
          if (text !== '') process.stdout.write(Buffer.from(text, 'latin1'));
        }
      });
      context.exitCode = 0;
    });
}

function chosen(store: Store, turn: string, paths: readonly string[]): readonly SquashedChange[] {
  const wanted = paths.map((path) => store.resolve(path));
  const { files } = store.show(turn);
  if (wanted.length === 0) return files;
  return files.filter(({ path }) =>
    wanted.some((want) => want === '' || path === want || path.startsWith(`${want}/`)),
  );
}

function patchJson(file: SquashedChange, { lines, left, added, removed }: Patch): object {
  const text = lines.length === 0 ? '' : `${lines.join('\n')}\n`;
  return {
    ...changeJson(file),
    diff: Buffer.from(text, 'latin1').toString('utf8'),
    added,
    removed,
    ...(left === 'nothing' ? {} : { left }),
  };
}
