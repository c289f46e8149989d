import type { Command } from 'commander';
import {
  type AnchorReport,
  chainHead,
  checkAnchor,
  formatSize,
  PreimageError,
  printableText,
  type VerifyReport,
  verifyStore,
} from '../../index.js';
import type { Context } from '../context.js';
import { EXIT } from '../errors.js';
import { printJson, verifyJson } from '../json.js';
import { type CommonOptions, whichOf } from '../options.js';
import { Progress } from '../progress.js';
import { tint } from '../style.js';
import { localTime } from '../text.js';

type Options = CommonOptions & {
  readonly repair?: boolean;
  readonly head?: boolean;
  readonly expect?: string;
};

/** `preimage verify`: checks the whole store, or only its history against a hash. */
export function define(command: Command, context: Context): void {
  command
    .summary('check every stored byte')
    .description(
      'Checks every line of the history and every stored byte against its hash, ' +
        'and says which turns damage touches.',
    )
    .option('--repair', 'set what is damaged aside and make the rest usable; nothing is deleted')
    .option('--head', 'only print the hash of the history’s last line: keep it somewhere else')
    .option('--expect <hash>', 'only say whether the history up to that hash is untouched')
    .addHelpText(
      'after',
      '\nExample:\n  preimage verify\n  preimage verify --repair\n' +
        '  preimage verify --head > ../head; preimage verify --expect "$(cat ../head)"',
    )
    .action((options: Options) => {
      const asked = [options.repair, options.head, options.expect].filter(Boolean);
      if (asked.length > 1) {
        throw new PreimageError('usage', '--repair, --head and --expect exclude each other.', {
          hint: 'Give one of them.',
        });
      }
      if (options.head === true) {
        printHead(options);
        return;
      }
      if (options.expect !== undefined) {
        context.exitCode = printAnchor(options.expect, options);
        return;
      }
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

function printHead(options: Options): void {
  const { head, lines } = chainHead(whichOf(options));
  if (options.json === true) printJson({ head, lines });
  else process.stdout.write(`${head}\n`);
}

function printAnchor(expected: string, options: Options): number {
  const report = checkAnchor(whichOf(options), expected.trim().toLowerCase());
  const untouched = report.state === 'untouched';
  if (options.json === true) printJson({ expected, ...anchorJson(report) });
  else if (options.quiet !== true || !untouched) {
    process.stdout.write(`${anchorLines(report).join('\n')}\n`);
  }
  return untouched ? EXIT.done : EXIT.damaged;
}

function anchorJson({ state, reason, lines, since, dropped }: AnchorReport): object {
  return { state, reason, lines, since, dropped: dropped === 'nothing' ? null : dropped };
}

function anchorLines({ state, reason, lines, since, dropped }: AnchorReport): string[] {
  const told = state === 'untouched' ? `${plural(lines, 'line')}, ${since} more since` : reason;
  const out = [
    `${tint(state === 'untouched' ? 'faint' : 'strange', state)}  ${printableText(told)}`,
  ];
  if (dropped !== 'nothing') {
    const { turns, at } = dropped;
    const when = localTime(at);
    out.push(
      `prunes have dropped ${plural(turns, 'turn')}, the last ${when}: of them nothing can be said`,
    );
  }
  if (state === 'unknown') {
    out.push('the history was written anew, or the hash is of another one or of a dropped line');
  }
  return out;
}

function plural(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
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
