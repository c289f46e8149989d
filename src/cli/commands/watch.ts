import type { Command } from 'commander';
import {
  countChanges,
  fromText,
  openStore,
  PreimageError,
  printableText,
  runCommand,
  type WatchCommandOptions,
  type WatchEvent,
  type Watched,
  watchCommand,
  watchUntilSignal,
} from '../../index.js';
import type { Context } from '../context.js';
import { reportError } from '../errors.js';
import { printJson, turnJson } from '../json.js';
import {
  addScanOptions,
  type CommonOptions,
  rulesOf,
  type ScanOptions,
  whichOf,
} from '../options.js';
import { Progress } from '../progress.js';
import { countsText } from '../text.js';

type Options = CommonOptions &
  ScanOptions & { readonly turn?: string; readonly label?: string; readonly bestEffort?: boolean };

/** `preimage watch`: runs a command as a turn. */
export function define(command: Command, context: Context): void {
  addScanOptions(
    command
      .summary('run a command as a turn')
      .description(
        'Makes every file safe, runs a command with your terminal, records what it changed. ' +
          'Without a command it shows what happens until Ctrl-C, then closes the turn. ' +
          'Standard output is the command’s alone; with --json the turn is printed on stderr.',
      )
      .argument('[command...]', 'what to run, after --')
      .passThroughOptions()
      .option('--turn <id>', 'the turn’s id (default: t1, t2, …); may be used again')
      .option('--label <text>', 'what the turn is about')
      .option('--best-effort', 'run the command even if its files cannot be made safe'),
  )
    .addHelpText('after', '\nExample:\n  preimage watch --turn fix-css -- npx prettier --write .')
    .action(async (args: string[], options: Options) => {
      context.exitCode = await run(args, options);
    });
}

async function run(command: readonly string[], options: Options): Promise<number> {
  const progress = new Progress(options.quiet === true);
  const shared: WatchCommandOptions = {
    ...whichOf(options),
    ...rulesOf(options),
    ...(options.turn === undefined ? {} : { turn: options.turn }),
    ...(options.label === undefined ? {} : { label: options.label }),
    watcher: options.watch === false ? 'none' : 'default',
    onProgress: ({ entries, bytes }) => {
      progress.scan(entries, bytes);
    },
    onOpen: ({ record, scanned }) => {
      progress.end();
      for (const warning of scanned.warnings) say(`warning: ${warning}`);
      if (command.length > 0 || options.quiet === true) return;
      say(`turn ${record.turn}: watching; Ctrl-C closes it`);
    },
  };
  let watched: Watched;
  try {
    watched =
      command.length > 0
        ? await watchCommand(command, shared)
        : await watchUntilSignal({ ...shared, onEvents: printEvents });
  } catch (error) {
    progress.end();
    const usage = error instanceof PreimageError && ['usage', 'refused-root'].includes(error.code);
    if (options.bestEffort !== true || usage || command.length === 0) throw error;
    reportError(error, { json: options.json === true, command: 'watch' });
    say('warning: nothing is recorded; the command runs all the same (--best-effort)');
    const { result } = await runCommand(command, fromText(process.cwd()));
    return result.exitCode;
  }
  progress.end();
  report(watched, command, options);
  return watched.result.exitCode;
}

function report(watched: Watched, command: readonly string[], options: Options): void {
  const { result, closing, turn } = watched;
  if (result.kind === 'not-started') {
    say(`cannot run ${command[0] ?? ''}: ${result.reason}`);
  }
  if ('kind' in closing) {
    const { error } = closing;
    say(`turn ${turn} could not be closed: ${error instanceof Error ? error.message : error}`);
    say('  Its old bytes are safe; the next preimage command closes it.');
    return;
  }
  for (const warning of [...closing.record.warnings, ...closing.notes]) say(`warning: ${warning}`);
  if (options.json === true) {
    const store = openStore(whichOf(options));
    printJson(turnJson(store.show(turn)), process.stderr);
    store.close();
    return;
  }
  if (options.quiet === true) return;
  const counts = countChanges(closing.changes);
  const undo = closing.changes.length === 0 ? '' : `; undo: preimage rewind ${turn}`;
  say(`turn ${turn}: ${countsText(counts)}${undo}`);
}

function printEvents(events: readonly WatchEvent[]): void {
  for (const { kind, path } of events) {
    process.stderr.write(`${kind.padEnd(6)}  ${path === '' ? '.' : printableText(path)}\n`);
  }
}

function say(line: string): void {
  process.stderr.write(`preimage: ${printableText(line)}\n`);
}
