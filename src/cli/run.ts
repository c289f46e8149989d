import { CommanderError } from 'commander';
import { errnoWords, type HostProcess, PreimageError } from '../index.js';
import type { Context } from './context.js';
import { EXIT, reportError } from './errors.js';
import { asksForJson, buildProgram } from './program.js';

/** Runs the command line; the exit code is left for Node to end with once all is written. */
export async function run(host: HostProcess | undefined): Promise<void> {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    // A reader that went away (`preimage list | head -1`) is no error of ours.
    if (error.code === 'EPIPE') return;
    process.stderr.write(`preimage: cannot write the output: ${errnoWords(error)}\n`);
    process.exitCode = EXIT.incomplete;
  });
  // The exit code is the command's, whatever becomes of our own messages.
  process.stderr.on('error', () => {});
  const context: Context = { exitCode: 0, json: false, host };
  try {
    const program = await buildProgram(context, process.argv);
    await program.parseAsync(process.argv);
    process.exitCode = context.exitCode;
  } catch (error) {
    process.exitCode = report(error, context.json);
  }
}

/** Help and version end with 0, wrong usage with 2. */
function report(error: unknown, json: boolean): number {
  const command = process.argv[2] ?? '';
  if (!(error instanceof CommanderError)) return reportError(error, { json, command });
  if (error.exitCode === 0) return EXIT.done;
  // Commander has printed its message, but for one that is to be a JSON document.
  if (!asksForJson(process.argv)) return EXIT.usage;
  const message = error.message.replace(/^error: /, '');
  const hint = `Try: preimage ${command.startsWith('-') ? '' : `${command} `}--help`;
  return reportError(new PreimageError('usage', message, { hint }), { json: true, command });
}
