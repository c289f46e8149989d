import type { Command } from 'commander';
import { type Blame, type BlamedLine, type LineOrigin, printable, toText } from '../../index.js';
import type { Context } from '../context.js';
import { EXIT } from '../errors.js';
import { pathJson, printJson } from '../json.js';
import type { CommonOptions } from '../options.js';
import { type Tone, tint } from '../style.js';
import { visible } from '../unified-diff.js';
import { withStore } from '../with-store.js';

/** `preimage blame`: who wrote which line. */
export function define(command: Command, context: Context): void {
  command
    .summary('show for each line of a file the turn that last wrote it')
    .description(
      'Shows each line of a file as it stands now with the turn that was the last to write it; ' +
        'before: it was there before any recorded turn wrote the file; ' +
        'outside: somebody wrote it between or after the turns.',
    )
    .argument('<path>', 'a text file')
    .addHelpText('after', '\nExample:\n  preimage blame src/app.js')
    .action(async (path: string, options: CommonOptions) => {
      const blame = await withStore(options, (store) => store.blame(path));
      if (options.json === true) printJson(blameJson(blame));
      else print(blame, options.quiet === true);
      // A file of which nothing can be told was left out.
      context.exitCode = blame.kind === 'lines' ? EXIT.done : EXIT.incomplete;
    });
}

function print(blame: Blame, quiet: boolean): void {
  if (blame.kind === 'not-text') {
    process.stderr.write(`preimage: ${printable(blame.path)} has no lines: ${blame.reason}.\n`);
    return;
  }
  const names = blame.lines.map(({ origin }) => nameOf(origin));
  const width = names.reduce((most, name) => Math.max(most, name.length), 0);
  const digits = String(blame.lines.length).length;
  const isTerminal = process.stdout.isTTY === true;
  const rows = blame.lines.map(({ origin, text }, i) => {
    const line = text.endsWith('\n') ? text.slice(0, -1) : text;
    const who = tint(TONES[origin.kind], nameOf(origin).padEnd(width));
    const number = tint('faint', String(i + 1).padStart(digits));
    return `${who}  ${number}  ${isTerminal ? visible(line) : line}\n`;
  });
  // Lines are bytes: what is no UTF-8 comes out as it is.
  process.stdout.write(Buffer.from(rows.join(''), 'latin1'));
  if (quiet) return;
  const { openTurns, droppedTurns } = blame;
  if (openTurns.length > 0) {
    process.stderr.write(
      `preimage: still open, and counted as outside so far: ${openTurns.join(', ')}\n`,
    );
  }
  if (droppedTurns > 0) {
    process.stderr.write(`preimage: pruned turns, counted as before: ${droppedTurns}\n`);
  }
}

const TONES = {
  turn: 'strong',
  before: 'faint',
  outside: 'strange',
  unknown: 'strange',
} as const satisfies Record<LineOrigin['kind'], Tone>;

function nameOf(origin: LineOrigin): string {
  return origin.kind === 'turn' ? origin.turn : origin.kind;
}

function blameJson(blame: Blame): object {
  if (blame.kind === 'not-text') {
    return { ...pathJson(blame.path), lines: null, reason: blame.reason };
  }
  const { path, lines, openTurns, droppedTurns } = blame;
  return { ...pathJson(path), lines: lines.map(lineJson), openTurns, droppedTurns };
}

function lineJson({ origin, text }: BlamedLine, i: number): object {
  const { text: shown, lossy } = toText(text);
  return {
    line: i + 1,
    by: origin.kind,
    ...(origin.kind === 'turn' ? { turn: origin.turn, step: origin.step } : {}),
    text: shown,
    ...(lossy ? { textBytes: Buffer.from(text, 'latin1').toString('base64') } : {}),
  };
}
