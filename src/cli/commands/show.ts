import type { Command } from 'commander';
import { countChanges, printableText } from '../../index.js';
import type { Context } from '../context.js';
import { gitLines, unfolded } from '../git-text.js';
import { printJson, timelineJson, turnJson } from '../json.js';
import type { CommonOptions } from '../options.js';
import { changeLine, countsText, foreignLine, timeOfDay, turnHead } from '../text.js';
import { withStore } from '../with-store.js';

type Options = CommonOptions & { readonly timeline?: boolean; readonly all?: boolean };

/** `preimage show`: what a turn touched. */
export function define(command: Command, context: Context): void {
  command
    .summary('show what a turn touched')
    .description(
      'Shows what a turn touched, a line a path: A created, M modified, D deleted, ' +
        'T of new type, P only permissions, owner or attributes, ? not captured. ' +
        'Of a repository it says what moved: HEAD, branches, tags, stashes, index.',
    )
    .argument('<turn>', 'the turn’s id')
    .option('--all', 'also each path in .git where many changed')
    .option('--timeline', 'also what the watcher saw come and go')
    .addHelpText('after', '\nExample:\n  preimage show t1 --timeline')
    .action(async (turn: string, options: Options) => {
      await withStore(options, (store) => {
        const report = store.show(turn);
        const timeline = options.timeline === true ? store.timeline(turn) : undefined;
        if (options.json === true) {
          const extra = timeline === undefined ? {} : { timeline: timelineJson(timeline) };
          printJson({ ...turnJson(report), ...extra });
          return;
        }
        const all = options.all === true;
        const files = all ? report.files : unfolded(report.files, report.git);
        const lines = [
          ...turnHead(report),
          ...gitLines(report.git, all),
          ...files.map(changeLine),
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
