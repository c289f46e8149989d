import { resolve } from 'node:path';
import { type Command, Option } from 'commander';
import {
  type Audit,
  type AuditLimits,
  PreimageError,
  printableText,
  type Store,
} from '../../index.js';
import type { Context } from '../context.js';
import { printJson } from '../json.js';
import { type CommonOptions, toDuration } from '../options.js';
import { auditJson } from '../report/audit-json.js';
import { htmlReport } from '../report/html.js';
import { markdownReport } from '../report/markdown.js';
import { chooseColor } from '../style.js';
import { withStore } from '../with-store.js';

type Format = 'md' | 'html' | 'json';

type Options = CommonOptions & {
  readonly since?: number;
  readonly format?: Format;
  readonly out?: string;
  readonly force?: boolean;
  readonly secrets?: boolean;
};

/** `preimage report`: what turns touched, to be passed on. */
export function define(command: Command, context: Context): void {
  command
    .summary('write a report of what turns touched, to read or to pass on')
    .description(
      'Writes what turns touched, with diffs and the timeline, as Markdown for a pull request, ' +
        'as one HTML page that loads nothing, or as JSON. Without a turn it is the newest. ' +
        'Contents of files whose names look like secrets are held back.',
    )
    .argument('[turn...]', 'the turns’ ids')
    .option('--since <time>', 'all turns at work so long ago or later, such as 24h', toDuration)
    .addOption(
      new Option('--format <format>', 'md, html or json (default: as --out ends, else md)').choices(
        ['md', 'html', 'json'],
      ),
    )
    .option('--out <file>', 'write it into a new file, its owner’s alone, and not to stdout')
    .option('--force', 'replace the file if it exists')
    .option('--secrets', 'show also what is in files whose names look like secrets')
    .addHelpText(
      'after',
      '\nExample:\n  preimage report t1 --out t1.html\n  preimage report --since 24h --format md',
    )
    .action(async (turns: string[], options: Options) => {
      if (turns.length > 0 && options.since !== undefined) {
        throw new PreimageError('usage', 'Turns and --since exclude each other.', {
          hint: 'Name the turns, or give a time.',
        });
      }
      const format = formatOf(options);
      // The words that the terminal gets are used, without its colours.
      chooseColor(false);
      await withStore(options, (store) => {
        const audit = store.audit({
          turns,
          ...(options.since === undefined ? {} : { since: Date.now() - options.since }),
          secrets: options.secrets === true,
          ...(format === 'md' ? { limits: MARKDOWN_LIMITS } : {}),
        });
        write(store, options, { audit, pieces: piecesOf(audit, format) });
      });
      context.exitCode = 0;
    });
}

/** A pull request takes 65,536 characters. */
const MARKDOWN_LIMITS: AuditLimits = {
  fileLines: 100,
  lineLength: 500,
  bytes: 32 * 1024,
  events: 1000,
};

function formatOf({ format, json, out = '' }: Options): Format {
  if (format !== undefined) return format;
  if (json === true || /\.json$/i.test(out)) return 'json';
  return /\.html?$/i.test(out) ? 'html' : 'md';
}

function piecesOf(audit: Audit, format: Format): Iterable<string> {
  switch (format) {
    case 'md':
      return markdownReport(audit);
    case 'html':
      return htmlReport(audit);
    case 'json':
      return [`${JSON.stringify(auditJson(audit), null, 2)}\n`];
  }
}

/** A write costs more than a piece of a report is long. */
const CHUNK = 64 * 1024;

function* chunks(pieces: Iterable<string>): Iterable<string> {
  let chunk = '';
  for (const piece of pieces) {
    chunk += piece;
    if (chunk.length < CHUNK) continue;
    yield chunk;
    chunk = '';
  }
  yield chunk;
}

function write(
  store: Store,
  options: Options,
  { audit, pieces }: { readonly audit: Audit; readonly pieces: Iterable<string> },
): void {
  if (options.out === undefined) {
    for (const chunk of chunks(pieces)) process.stdout.write(chunk);
    return;
  }
  const out = resolve(options.out);
  store.writeReport(out, pieces, { replace: options.force === true });
  const turns = audit.turns.map(({ report }) => report.turn);
  if (options.json === true) printJson({ out, turns });
  else if (options.quiet !== true) {
    process.stdout.write(`${printableText(out)}: ${turns.join(', ')}\n`);
  }
}
