import type { Command } from 'commander';
import { formatSize, printableText, type VerifyReport, verifyStore } from '../../index.js';
import type { Context } from '../context.js';
import { EXIT } from '../errors.js';
import { printJson, verifyJson } from '../json.js';
import { type CommonOptions, whichOf } from '../options.js';
import { Progress } from '../progress.js';
import { tint } from '../style.js';

/** `preimage verify`: checks the whole store. */
export function define(command: Command, context: Context): void {
  command
    .summary('check every stored byte')
    .description(
      'Checks every line of the history and every stored byte against its hash, ' +
        'and says which turns damage touches.',
    )
    .option('--repair', 'set what is damaged aside and make the rest usable; nothing is deleted')
    .addHelpText('after', '\nExample:\n  preimage verify\n  preimage verify --repair')
    .action((options: CommonOptions & { readonly repair?: boolean }) => {
      const progress = new Progress(options.quiet === true);
      let bytes = 0;
      let report: VerifyReport;
      try {
        report = verifyStore({
          ...whichOf(options),
          repair: options.repair === true,
          onProgress: (more) => {
            bytes += more;
            progress.check(bytes);
          },
        });
      } finally {
        progress.end();
      }
      if (options.json === true) printJson(verifyJson(report));
      else if (options.quiet !== true || !report.whole) {
        process.stdout.write(`${verifyLines(report).join('\n')}\n`);
      }
      context.exitCode = report.whole ? EXIT.done : EXIT.damaged;
    });
}

/** More findings are in the JSON. */
const MOST_LINES = 50;

function verifyLines({ whole, findings, turns, repairs, checked }: VerifyReport): string[] {
  const lines = findings.slice(0, MOST_LINES).map(({ kind, place, what, turns: touched }) => {
    const tone = kind === 'damage' ? 'strange' : 'faint';
    const whose = touched.length === 0 ? '' : `  (${touched.join(', ')})`;
    return `${tint(tone, kind.padEnd(6))}  ${place}: ${printableText(what)}${whose}`;
  });
  if (findings.length > MOST_LINES) lines.push(`and ${findings.length - MOST_LINES} more`);
  lines.push(...repairs.map((each) => `repair  ${printableText(each)}`));
  if (turns.length > 0) lines.push(`turns that the damage touches: ${turns.join(', ')}`);
  const { lines: count, contents, bytes } = checked;
  const what = `${count} lines of the log, ${contents} contents, ${formatSize(bytes)}`;
  if (!whole) lines.push(`checked ${what}: damaged; see: preimage verify --repair`);
  else if (repairs.length > 0) lines.push(`checked ${what}: the rest is whole now`);
  else lines.push(`checked ${what}: all whole`);
  return lines;
}
