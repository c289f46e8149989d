#!/usr/bin/env node
import { CommanderError } from 'commander';
import { reportError } from './errors.js';
import { buildProgram } from './program.js';

/** Runs the command line; the exit code is left for Node to end with once all is written. */
async function main(): Promise<void> {
  const context = { exitCode: 0 };
  try {
    const program = await buildProgram(context, process.argv);
    await program.parseAsync(process.argv);
    process.exitCode = context.exitCode;
  } catch (error) {
    if (error instanceof CommanderError) {
      // Commander has printed its message. Help and version end with 0, wrong usage with 2.
      process.exitCode = error.exitCode === 0 ? 0 : 2;
      return;
    }
    process.exitCode = reportError(error, {
      json: process.argv.includes('--json'),
      command: process.argv[2] ?? '',
    });
  }
}

// A reader that went away (`preimage list | head -1`) is no error of ours.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});

await main();
