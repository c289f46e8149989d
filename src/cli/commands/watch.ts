import type { Command } from 'commander';
import {
  countChanges,
  fromText,
  type HostProcess,
  type LiveOptions,
  openStore,
  PreimageError,
  printable,
  printableText,
  runCommand,
  type WatchCommandOptions,
  type Watched,
  watchCommand,
  watchLive,
} from '../../index.js';
import type { Context } from '../context.js';
import { EXIT, reportError } from '../errors.js';
import { printJson, turnJson } from '../json.js';
import { closedJson, liveJson, liveLine, openedLine } from '../live-text.js';
import {
  addScanOptions,
  budgetOf,
  type CommonOptions,
  collect,
  rulesOf,
  type ScanOptions,
  toDuration,
  whichOf,
} from '../options.js';
import { Progress } from '../progress.js';
import { isBack, rulesLines } from '../rules-text.js';
import { countsText } from '../text.js';

type Options = CommonOptions &
  ScanOptions & {
    readonly turn?: string;
    readonly label?: string;
    readonly bestEffort?: boolean;
    readonly allow?: string[];
    readonly deny?: string[];
    readonly atomic?: boolean;
    readonly stopOnDeny?: boolean;
    readonly idle?: number;
  };

/** `preimage watch`: runs a command as a turn. */
export function define(command: Command, context: Context): void {
  addScanOptions(
    command
      .summary('run a command as a turn')
      .description(
        'Makes every file safe, runs a command with your terminal, records what it changed. ' +
          'Without a command it shows on standard error how each path that settles stands beside how ' +
          'it stood, until Ctrl-C, then closes the turn. ' +
          'Standard output is the command’s alone; with --json the turn is printed on stderr.',
      )
      .argument('[command...]', 'what to run, after --')
      .passThroughOptions()
      .option('--turn <id>', 'the turn’s id (default: t1, t2, …); may be used again')
      .option('--label <text>', 'what the turn is about')
      .option('--best-effort', 'run the command even if its files cannot be made safe')
      .option('--allow <glob>', 'what may be changed, and nothing else (repeatable)', collect)
      .option('--deny <glob>', 'what may not be changed (repeatable)', collect)
      .option('--atomic', 'put all back if the command fails or breaks a rule')
      .option(
        '--idle <time>',
        'without a command: a turn each time it was quiet so long',
        toDuration,
      )
      .option('--stop-on-deny', 'end the command once it is seen to change what is denied'),
  )
    .addHelpText(
      'after',
      '\nA change against --allow or --deny is named, and ends with 1 if the command itself ended ' +
        'with 0.\n\nExample:\n  preimage watch --turn fix-css -- npx prettier --write .\n' +
        "  preimage watch --atomic --allow 'src/**' --deny '.env*' -- npm run codemod",
    )
    .action(async (args: string[], options: Options) => {
      context.exitCode = await run(args, options, context.host);
    });
}

async function run(
  command: readonly string[],
  options: Options,
  host: HostProcess | undefined,
): Promise<number> {
  refuseTogether(command, options);
  asJsonLines = options.json === true && command.length === 0;
  const progress = new Progress(options.quiet === true);
  const shared: WatchCommandOptions = {
    ...whichOf(options),
    ...rulesOf(options),
    ...budgetOf(options),
    ...(options.turn === undefined ? {} : { turn: options.turn }),
    ...(options.label === undefined ? {} : { label: options.label }),
    ...(options.allow === undefined ? {} : { allow: options.allow }),
    ...(options.deny === undefined ? {} : { deny: options.deny }),
    atomic: options.atomic === true,
    stopOnDeny: options.stopOnDeny === true,
    watcher: options.watch === false ? 'none' : 'default',
    host,
    onProgress: (scanned) => {
      progress.scan(scanned);
    },
    onOpen: ({ record, scanned }) => {
      progress.end();
      for (const warning of scanned.warnings) say(`warning: ${warning}`);
      if (command.length > 0) return;
      if (options.json === true) process.stderr.write(`${openedLine(record.turn)}\n`);
      else if (options.quiet !== true) say(`turn ${record.turn}: watching; Ctrl-C closes it`);
    },
  };
  let watched: Watched;
  try {
    watched =
      command.length > 0
        ? await watchCommand(command, shared)
        : await watchLive(liveOptions(shared, options));
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
  const { exitCode } = watched.result;
  return exitCode === EXIT.done && watched.broken.length > 0 ? EXIT.incomplete : exitCode;
}

/** Options that say nothing together, or nothing without a command. */
function refuseTogether(command: readonly string[], options: Options): void {
  const wrong =
    command.length > 0
      ? options.idle !== undefined && '--idle is for a watch without a command'
      : ((options.atomic === true || options.stopOnDeny === true) &&
          '--atomic and --stop-on-deny need a command') ||
        (options.idle !== undefined &&
          options.turn !== undefined &&
          '--idle makes a turn each time, so --turn cannot name them');
  if (wrong !== false) {
    throw new PreimageError('usage', `${wrong}.`, { hint: 'Try: preimage watch --help' });
  }
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
  for (const path of closing.record.unsettled) {
    say(`warning: ${printable(path)} is still written to: a process was left running`);
  }
  for (const line of rulesLines(watched, options)) say(line);
  if (options.json === true) {
    const store = openStore(whichOf(options));
    const warnings = watched.warnings.length === 0 ? {} : { warnings: watched.warnings };
    if (command.length > 0)
      printJson({ ...turnJson(store.show(turn)), ...warnings }, process.stderr);
    else process.stderr.write(`${closedJson(store.show(turn))}\n`);
    store.close();
    return;
  }
  if (options.quiet === true) return;
  const counts = countChanges(closing.changes);
  const undo =
    closing.changes.length === 0 || isBack(watched) ? '' : `; undo: preimage rewind ${turn}`;
  say(`turn ${turn}: ${countsText(counts)}${undo}`);
}

function liveOptions(shared: WatchCommandOptions, options: Options): LiveOptions {
  const { json, quiet, idle } = options;
  return {
    ...shared,
    ...(idle === undefined ? {} : { idle }),
    onChange: (change) => {
      if (json === true) process.stderr.write(`${liveJson(change)}\n`);
      else if (quiet !== true) process.stderr.write(`${liveLine(change)}\n`);
    },
    onBlind: (reason) => {
      const lost = idle === undefined ? '' : ', and --idle cannot tell when it is quiet';
      say(`warning: nothing watches here, so nothing is shown until the end${lost}: ${reason}`);
    },
    onClosed: (watched) => {
      report(watched, [], options);
    },
  };
}

/** With `--json` and without a command each line is JSON, this one as well. */
let asJsonLines = false;

function say(line: string): void {
  const text = printableText(line);
  const shown = asJsonLines ? JSON.stringify({ event: 'note', text }) : `preimage: ${text}`;
  process.stderr.write(`${shown}\n`);
}
