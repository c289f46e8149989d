import type { Patch } from '../index.js';
import { tint } from './style.js';

/** How a patch is printed. */
export type PaintOptions = {
  /** Adds colours. */
  readonly color: boolean;
  /** Makes control characters visible: for a terminal, where they could do harm. */
  readonly showControls: boolean;
};

/** Writes a patch as a byte string, so that bytes that are no UTF-8 come out as they are. */
export function patchText({ lines }: Patch, { color, showControls }: PaintOptions): string {
  if (lines.length === 0) return '';
  if (!color && !showControls) return `${lines.join('\n')}\n`;
  const shown = lines.map((line) => {
    const safe = showControls ? visible(line) : line;
    if (!color) return safe;
    if (line.startsWith('+') && !line.startsWith('+++ ')) return tint('created', safe);
    if (line.startsWith('-') && !line.startsWith('--- ')) return tint('deleted', safe);
    if (line.startsWith('@@')) return tint('strange', safe);
    return line.startsWith('diff ') ? tint('strong', safe) : safe;
  });
  return `${shown.join('\n')}\n`;
}

/** Makes control characters but tab visible; bytes above ASCII are left for the terminal to decode. */
export function visible(line: string): string {
  return line.replace(CONTROL, (char) => `\\x${char.charCodeAt(0).toString(16).padStart(2, '0')}`);
}

const CONTROL = /[^\P{Cc}\t\u0080-\u009f]/gu;
