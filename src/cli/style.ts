import { styleText } from 'node:util';

/** How a piece of text is meant; each has one colour. */
export type Tone = 'created' | 'modified' | 'deleted' | 'strange' | 'faint' | 'strong';

let forced: boolean | undefined;

/** Takes the user's word: `--color`, `--no-color`, or nothing. */
export function chooseColor(color: boolean | undefined): void {
  forced = color;
}

/** Colours a text for a stream, if that is a terminal that wants colours. */
export function tint(
  tone: Tone,
  text: string,
  stream: NodeJS.WriteStream = process.stdout,
): string {
  return text !== '' && wantsColor(stream) ? styleText(TONES[tone], text) : text;
}

/** Reports whether a stream gets colours: `--color`, else a terminal without NO_COLOR. */
export function wantsColor(stream: NodeJS.WriteStream): boolean {
  if (forced !== undefined) return forced;
  if ((process.env.NO_COLOR ?? '') !== '' || process.env.TERM === 'dumb') return false;
  return stream.isTTY === true;
}

const TONES = {
  created: 'green',
  modified: 'yellow',
  deleted: 'red',
  strange: 'magenta',
  faint: 'gray',
  strong: 'bold',
} as const satisfies Record<Tone, string>;
