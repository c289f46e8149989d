import type { Command } from 'commander';
import { type Check, doctor } from '../../index.js';
import type { Context } from '../context.js';
import { EXIT } from '../errors.js';
import { doctorJson, printJson } from '../json.js';
import { type CommonOptions, whichOf } from '../options.js';
import { type Tone, tint } from '../style.js';

/** `preimage doctor`: tries a turn out and looks at what it depends on. */
export function define(command: Command, context: Context): void {
  command
    .summary('try a turn out and check the set-up')
    .description(
      'Changes files in a temporary directory, rewinds and compares; ' +
        'looks at the store, free space, the watcher and its limits. A line each: ' +
        'ok, limit (works, but not as well as it could), or wrong, and what to do.',
    )
    .addHelpText('after', '\nExample:\n  preimage doctor')
    .action(async (options: CommonOptions) => {
      const checks = await doctor(whichOf(options));
      const isWrong = checks.some(({ state }) => state === 'wrong');
      if (options.json === true) printJson(doctorJson(checks));
      else if (options.quiet !== true || isWrong) {
        process.stdout.write(`${checks.flatMap(checkLines).join('\n')}\n`);
      }
      context.exitCode = isWrong ? EXIT.incomplete : EXIT.done;
    });
}

const TONES = { ok: 'created', limit: 'modified', wrong: 'deleted' } as const satisfies Record<
  Check['state'],
  Tone
>;

function checkLines({ name, state, text, hint }: Check): string[] {
  const line = `${tint(TONES[state], state.padEnd(5))}  ${name.padEnd(18)}  ${text}`;
  return [hint === '' ? line : `${line}. ${hint}`];
}
