import { type Command, InvalidArgumentError, Option } from 'commander';
import {
  type BudgetOptions,
  parseDuration,
  parseSize,
  type RuleOptions,
  type WhichWorkspace,
} from '../index.js';
import { chooseColor } from './style.js';

/** Options that every command takes. */
export type CommonOptions = {
  readonly root?: string;
  readonly store?: string;
  readonly allowHome?: boolean;
  readonly json?: boolean;
  readonly quiet?: boolean;
  readonly color?: boolean;
};

/** Options of the commands that scan. */
export type ScanOptions = {
  readonly include?: string[];
  readonly exclude?: string[];
  readonly maxFile?: number;
  /** Milliseconds. */
  readonly budget?: number;
  /** False with `--no-watch`. */
  readonly watch?: boolean;
};

/** Adds the options that every command takes. */
export function addCommonOptions(command: Command): Command {
  return command
    .option('--root <dir>', 'the workspace (default: nearest parent with a store, else here)')
    .option('--store <dir>', 'where its history is kept (also PREIMAGE_STORE)')
    .option('--allow-home', 'take / or the home directory as a workspace')
    .option('--json', 'print one JSON document')
    .option('--quiet', 'print only errors')
    .addOption(new Option('--color', 'use colours').default(undefined))
    .addOption(new Option('--no-color', 'use no colours (also NO_COLOR)'))
    .hook('preAction', (_, action) => {
      chooseColor(action.opts<CommonOptions>().color);
    });
}

/** Adds the options of the commands that scan. */
export function addScanOptions(command: Command): Command {
  return command
    .option('--include <glob>', 'capture what a rule leaves out (repeatable)', collect)
    .option('--exclude <glob>', 'leave out (repeatable)', collect)
    .option('--max-file <size>', 'largest file to capture, 0 for all (default: 8MB)', toSize)
    .option(
      '--budget <time>',
      'longest time to copy files in, such as 10s; the rest is said',
      toDuration,
    )
    .option('--no-watch', 'run no watcher: no timeline, the same list of changes');
}

/** Picks what says which workspace is meant. */
export function whichOf({ root, store, allowHome }: CommonOptions): WhichWorkspace {
  return {
    ...(root === undefined ? {} : { root }),
    ...(store === undefined ? {} : { store }),
    ...(allowHome === undefined ? {} : { allowHome }),
  };
}

/** Picks what says what is covered. */
export function rulesOf({ include, exclude, maxFile }: ScanOptions): RuleOptions {
  return {
    ...(include === undefined ? {} : { include }),
    ...(exclude === undefined ? {} : { exclude }),
    ...(maxFile === undefined ? {} : { maxFile }),
  };
}

/** Picks what says how long an opening may take. */
export function budgetOf({ budget }: ScanOptions): BudgetOptions {
  return budget === undefined ? {} : { budget };
}

/** Reads one of several values of an option. */
export function collect(value: string, previous: string[] = []): string[] {
  return [...previous, value];
}

/** Reads a size for an option. */
export function toSize(text: string): number {
  const size = parseSize(text);
  if (size !== 'invalid') return size;
  throw new InvalidArgumentError('A size is a number of bytes or such as 512KB, 8MB, 2GB.');
}

/** Reads a duration for an option. */
export function toDuration(text: string): number {
  const duration = parseDuration(text);
  if (duration !== 'invalid') return duration;
  throw new InvalidArgumentError('A duration is such as 30d, 12h, 2w, 90m, 45s, 500ms.');
}

/** Reads a number of things for an option. */
export function toCount(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number, 0 or more.');
}
