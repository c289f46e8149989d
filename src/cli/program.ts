import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Command } from 'commander';
import { printableText } from '../index.js';
import type { Context } from './context.js';
import { addCommonOptions, type CommonOptions } from './options.js';

/** A file in `commands/`: says how its command is called and what it does. */
type CommandModule = {
  readonly define: (command: Command, context: Context) => void;
};

/** Every command with its file, in the order of the help. */
const COMMANDS: ReadonlyMap<string, () => Promise<CommandModule>> = new Map([
  ['watch', () => import('./commands/watch.js')],
  ['open', () => import('./commands/open.js')],
  ['close', () => import('./commands/close.js')],
  ['list', () => import('./commands/list.js')],
  ['show', () => import('./commands/show.js')],
  ['diff', () => import('./commands/diff.js')],
  ['cat', () => import('./commands/cat.js')],
  ['log', () => import('./commands/log.js')],
  ['report', () => import('./commands/report.js')],
  ['blame', () => import('./commands/blame.js')],
  ['search', () => import('./commands/search.js')],
  ['stats', () => import('./commands/stats.js')],
  ['rewind', () => import('./commands/rewind.js')],
  ['redo', () => import('./commands/redo.js')],
  ['status', () => import('./commands/status.js')],
  ['prune', () => import('./commands/prune.js')],
  ['verify', () => import('./commands/verify.js')],
  ['doctor', () => import('./commands/doctor.js')],
  ['export', () => import('./commands/export.js')],
]);

/** Builds the command line; of a known command only its own file is loaded. */
export async function buildProgram(context: Context, argv: readonly string[]): Promise<Command> {
  const program = new Command('preimage');
  program
    .description(
      'Undo for what changes your files behind your back: agents, formatters, scripts.\n' +
        'Every file is safe before the command runs; rewind puts it back byte for byte.',
    )
    .version(packageVersion(), '--version', 'print the version')
    .helpOption('--help', 'show help')
    .helpCommand(false)
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({ outputError })
    .showHelpAfterError(asksForJson(argv) ? false : 'Try: preimage --help')
    .addHelpText(
      'after',
      '\nExample:\n' +
        '  preimage watch -- npm run format     run it as a turn\n' +
        '  preimage show t1                     see what it touched\n' +
        '  preimage rewind                      put everything back\n' +
        '  preimage redo                        take that back',
    );
  const [, , name = ''] = argv;
  const wanted = COMMANDS.has(name) ? [name] : [...COMMANDS.keys()];
  for (const each of wanted) {
    const load = COMMANDS.get(each);
    if (load === undefined) continue;
    const { define } = await load();
    const command = program
      .command(each)
      .helpOption('--help', 'show help')
      .exitOverride()
      .configureOutput({ outputError });
    define(command, context);
    addCommonOptions(command).hook('preAction', () => {
      context.json = command.opts<CommonOptions>().json === true;
    });
    command.showHelpAfterError(asksForJson(argv) ? false : `Try: preimage ${each} --help`);
  }
  return program;
}

/**
 * Reports whether the words before the command (after `--`, or the first word of `watch` that is no
 * option) ask for JSON: for when they could not be parsed.
 */
export function asksForJson(argv: readonly string[]): boolean {
  const [, , command = '', ...words] = argv;
  for (let i = 0; i < words.length; i++) {
    const word = words[i] ?? '';
    if (word === '--json') return true;
    if (word === '--') return false;
    const isValue = i > 0 && /^--(?!json|quiet|no-|color|best)[a-z-]+$/.test(words[i - 1] ?? '');
    if (command === 'watch' && !word.startsWith('-') && !isValue) return false;
  }
  return false;
}

/** Says who speaks, as all other messages do; a message that is to be JSON is left to `main.ts`. */
function outputError(text: string, write: (text: string) => void): void {
  if (asksForJson(process.argv)) return;
  // The words of the command line are in it, whatever they hold.
  const lines = text
    .replace(/^error: /, 'preimage: ')
    .split('\n')
    .map(printableText);
  write(lines.join('\n'));
}

function packageVersion(): string {
  const path = join(dirname(fileURLToPath(import.meta.url)), '..', '..', 'package.json');
  const parsed: unknown = JSON.parse(readFileSync(path, 'utf8'));
  const hasVersion = typeof parsed === 'object' && parsed !== null && 'version' in parsed;
  return hasVersion ? String(parsed.version) : 'unknown';
}
