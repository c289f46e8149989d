import type { Command } from 'commander';
import {
  countChanges,
  printableText,
  type Store,
  type Timeline,
  type TurnReport,
} from '../../index.js';
import type { Context } from '../context.js';
import { gitLines, unfolded } from '../git-text.js';
import { printJson, timelineJson, turnJson } from '../json.js';
import type { CommonOptions } from '../options.js';
import { type CountLines, flatLines, passingLines, statLines, treeLines } from '../show-text.js';
import { countsText, foreignLine, timeOfDay, turnHead } from '../text.js';
import { withStore } from '../with-store.js';

type Options = CommonOptions & {
  readonly timeline?: boolean;
  readonly all?: boolean;
  readonly stat?: boolean;
  readonly tree?: boolean;
};

/** `preimage show`: what a turn touched. */
export function define(command: Command, context: Context): void {
  command
    .summary('show what a turn touched')
    .description(
      'Shows what a turn touched, a line a path: A created, M modified, D deleted, ' +
        'T of new type, P only permissions, owner or attributes, ? not captured; ' +
        'as a tree on a terminal. ' +
        'Of a repository it says what moved: HEAD, branches, tags, stashes, index.',
    )
    .argument('<turn>', 'the turn’s id')
    .option('--stat', 'only the lines added and removed, path by path')
    .option('--all', 'also each path in .git where many changed')
    .option('--timeline', 'also what the watcher saw come and go')
    .option('--tree', 'show directories as a tree (default: on a terminal)')
    .option('--no-tree', 'show each path whole')
    .addHelpText('after', '\nExample:\n  preimage show t1 --stat\n  preimage show t1 --timeline')
    .action(async (turn: string, options: Options) => {
      await withStore(options, (store) => {
        const report = store.show(turn);
        const timeline = store.timeline(turn);
        if (options.json === true) {
          const extra = options.timeline === true ? { timeline: timelineJson(timeline) } : {};
          printJson({ ...turnJson(report), ...extra });
          return;
        }
        process.stdout.write(`${linesOf(store, { report, timeline }, options).join('\n')}\n`);
      });
      context.exitCode = 0;
    });
}

function linesOf(
  store: Store,
  { report, timeline }: { readonly report: TurnReport; readonly timeline: Timeline },
  options: Options,
): string[] {
  const all = options.all === true;
  const files = all ? report.files : unfolded(report.files, report.git);
  if (options.stat === true) return statLines(files, (change) => store.countLines(change));
  const counter = new Counter(store);
  const asTree = options.tree ?? process.stdout.isTTY === true;
  const passing = timeline.passing.filter(({ path }) => all || !isGitPath(path));
  const lines = [
    ...turnHead(report),
    ...gitLines(report.git, all),
    ...(asTree ? treeLines : flatLines)(files, counter.count),
    ...report.files.flatMap(foreignLine),
    ...passingLines(passing),
    countsText(countChanges(files)),
  ];
  if (counter.late > 0) {
    lines.push(`the lines of ${counter.late} files were not counted, to save time; see: --stat`);
  }
  return options.timeline === true ? [...lines, '', ...timelineLines(timeline)] : lines;
}

/** Counts lines while there is time: an answer is wanted at once. */
class Counter {
  /** Changes for which there was no time. */
  late = 0;
  readonly #store: Store;
  readonly #deadline = Date.now() + PATIENCE_MS;

  constructor(store: Store) {
    this.#store = store;
  }

  count: CountLines = (change) => {
    if (Date.now() < this.#deadline) return this.#store.countLines(change);
    this.late += 1;
    return 'later';
  };
}

const PATIENCE_MS = 300;

function isGitPath(path: string): boolean {
  return path === '.git' || path.startsWith('.git/') || path.includes('/.git/');
}

function timelineLines({ complete, reason, watcher, events }: Timeline): string[] {
  const whole = complete ? 'complete' : `not complete: ${reason}`;
  return [
    `timeline (${watcher}), ${whole}`,
    ...events.map(({ at, kind, path }) => {
      const name = path === '' ? '.' : printableText(path);
      return `  ${timeOfDay(at)}  ${kind.padEnd(6)}  ${name}`;
    }),
  ];
}
