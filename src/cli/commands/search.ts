import type { Command } from 'commander';
import { PreimageError, printableText, type SearchHit, type SearchMatch } from '../../index.js';
import type { Context } from '../context.js';
import { changeJson, printJson, summaryJson } from '../json.js';
import type { CommonOptions } from '../options.js';
import { tint } from '../style.js';
import { changeLine, summaryLine } from '../text.js';
import { withStore } from '../with-store.js';

/** `preimage search`: the turns that a text leads to. */
export function define(command: Command, context: Context): void {
  command
    .summary('find turns by a text in their label, command or changed paths')
    .description(
      'Lists the turns that have a text in their label, their commands or the paths that they ' +
        'changed, newest first, with what matched; capital and small letters are the same.',
    )
    .argument('<text>', 'what to look for, as it is: no pattern')
    .addHelpText('after', '\nExample:\n  preimage search format\n  preimage search .env')
    .action(async (text: string, options: CommonOptions) => {
      if (text === '') {
        throw new PreimageError('usage', 'There is no text to look for.', {
          hint: 'See all turns with: preimage list',
        });
      }
      const hits = await withStore(options, (store) => store.search(text));
      if (options.json === true) printJson({ turns: hits.map(hitJson) });
      else if (hits.length === 0) {
        throw new PreimageError('nothing-to-do', `No turn has ${JSON.stringify(text)} in it.`, {
          hint: 'Labels, commands and changed paths were looked at. See all with: preimage list',
        });
      } else {
        const width = Math.max(...hits.map(({ turn }) => turn.turn.length));
        const lines = hits.flatMap((hit) => [summaryLine(hit.turn, width), ...matchLines(hit)]);
        process.stdout.write(`${lines.join('\n')}\n`);
      }
      context.exitCode = 0;
    });
}

/** More matches of a turn are in the JSON. */
const MOST_LINES = 10;

function matchLines({ matches }: SearchHit): string[] {
  const lines = matches.slice(0, MOST_LINES).map((match) => `  ${matchLine(match)}`);
  if (matches.length > MOST_LINES) lines.push(`  and ${matches.length - MOST_LINES} more`);
  return lines;
}

function matchLine(match: SearchMatch): string {
  if (match.kind === 'path') return changeLine(match.change);
  return `${tint('faint', match.kind)} ${printableText(match.text)}`;
}

function hitJson({ turn, matches }: SearchHit): object {
  return {
    ...summaryJson(turn),
    matches: matches.map((match) =>
      match.kind === 'path'
        ? { in: 'path', ...changeJson(match.change) }
        : { in: match.kind, step: match.step, text: match.text },
    ),
  };
}
