import type { Command } from 'commander';
import { countChanges, printableText } from '../../index.js';
import type { Context } from '../context.js';
import { printJson, timelineJson, turnJson } from '../json.js';
import type { CommonOptions } from '../options.js';
import { changeLine, countsText, foreignLine, timeOfDay, turnHead } from '../text.js';
import { withStore } from '../with-store.js';

/** `preimage show`: what a turn touched. */
export function define(command: Command, context: Context): void {
  command
    .summary('show what a turn touched')
    .description(
      'Shows what a turn touched, a line a path: A created, M modified, D deleted, ' +
        'T of new type, P only permissions or owner, ? not captured.',
    )
    .argument('<turn>', 'the turn’s id')
    .option('--timeline', 'also what the watcher saw come and go')
    .addHelpText('after', '\nExample:\n  preimage show t1 --timeline')
    .action(async (turn: string, options: CommonOptions & { readonly timeline?: boolean }) => {
      await withStore(options, (store) => {
        const report = store.show(turn);
        const timeline = options.timeline === true ? store.timeline(turn) : undefined;
        if (options.json === true) {
          const extra = timeline === undefined ? {} : { timeline: timelineJson(timeline) };
          printJson({ ...turnJson(report), ...extra });
          return;
        }
        const lines = [
          ...turnHead(report),
          ...report.files.map(changeLine),
          ...report.files.flatMap(foreignLine),
        ];
        lines.push(countsText(countChanges(report.files)));
        if (timeline !== undefined) {
          const whole = timeline.complete ? 'complete' : `not complete: ${timeline.reason}`;
          lines.push('', `timeline (${timeline.watcher}), ${whole}`);
          for (const { at, kind, path } of timeline.events) {
            const name = path === '' ? '.' : printableText(path);
            lines.push(`  ${timeOfDay(at)}  ${kind.padEnd(6)}  ${name}`);
          }
        }
        process.stdout.write(`${lines.join('\n')}\n`);
      });
      context.exitCode = 0;
    });
}
