import { errnoWords, PreimageError, type ProblemCode, printableText } from '../index.js';

/** Exit codes of CONTRACT.md. */
export const EXIT = {
  done: 0,
  incomplete: 1,
  usage: 2,
  nothing: 3,
  damaged: 4,
  busy: 5,
  /** `watch`: preimage itself failed before the command ran. */
  notRun: 125,
} as const;

/** Prints an error and gives the exit code. */
export function reportError(
  error: unknown,
  options: { readonly json: boolean; readonly command: string },
): number {
  const known = error instanceof PreimageError ? error : systemError(error);
  const code = known?.code ?? 'internal';
  const message = known?.message ?? `Unexpected: ${error instanceof Error ? error.message : error}`;
  const hint = known?.hint ?? 'This is a fault of preimage; please report it with the command.';
  const watching = options.command === 'watch';
  if (options.json) {
    const document = JSON.stringify({ error: { code, message, hint } });
    // `watch` never writes to stdout: it is the command's.
    (watching ? process.stderr : process.stdout).write(`${document}\n`);
  } else {
    process.stderr.write(`preimage: ${printableText(message)}\n`);
    if (hint !== '') process.stderr.write(`  ${printableText(hint)}\n`);
    if (known === undefined && process.env.PREIMAGE_DEBUG && error instanceof Error) {
      process.stderr.write(`${error.stack}\n`);
    }
  }
  const exitCode = exitCodeOf(code);
  return watching && exitCode !== EXIT.usage ? EXIT.notRun : exitCode;
}

/** What the system refuses is no fault of ours, wherever it was met. */
function systemError(error: unknown): PreimageError | undefined {
  if (!(error instanceof Error && 'errno' in error)) return undefined;
  const where = 'path' in error ? ` (${error.path})` : '';
  const message = `Cannot go on: ${errnoWords(error)}${where}.`;
  return new PreimageError('cannot-store', message, { hint: 'Mend that, then try again.' });
}

function exitCodeOf(code: ProblemCode): number {
  switch (code) {
    case 'usage':
    case 'refused-root':
    case 'cannot-read':
      return EXIT.usage;
    case 'no-such-turn':
    case 'nothing-to-do':
      return EXIT.nothing;
    case 'damaged':
    case 'newer-store':
    case 'cannot-store':
      return EXIT.damaged;
    case 'busy':
      return EXIT.busy;
    case 'internal':
      return EXIT.incomplete;
  }
}
