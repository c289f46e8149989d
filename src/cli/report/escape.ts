import { type ByteString, toText } from '../../index.js';

/** Control, format (bidi overrides, zero-width) and separator characters: nobody would see them. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** Makes of bytes a line of text that shows everything that is in it; a tab stays. */
export function visibleLine(bytes: ByteString): string {
  return toText(bytes).text.replace(INVISIBLE, (char) =>
    char === '\t' ? char : `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`,
  );
}

/** Escapes a text for HTML, in an attribute as well. */
export function html(text: string): string {
  return text.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);
}

/**
 * Writes a text of one line as code in Markdown, so that nothing in it is markup, a link or the mention
 * of a user. In a table a bar would end the cell, in code as well.
 */
export function markdownCode(text: string, inTable = false): string {
  if (text === '' || (inTable && text.includes('|'))) return `<code>${markdownText(text)}</code>`;
  const fence = '`'.repeat(longestRun([text]) + 1);
  // One blank on each side is taken off again, and only so may a backtick or a blank stand there.
  const pad = /^[` ]|[` ]$/.test(text) ? ' ' : '';
  return `${fence}${pad}${text}${pad}${fence}`;
}

/** Escapes a text of one line for Markdown: what could be markup, HTML, a link, an emoji, a mention. */
export function markdownText(text: string): string {
  return text
    .replace(/[\\`*_[\]<>&|~@#:$!]/g, (char) => `&#${char.charCodeAt(0)};`)
    .replace(/www\./gi, (word) => `${word.slice(0, 3)}&#46;`);
}

/** Gives a fence that is longer than any run of backticks in the lines. */
export function fenceFor(lines: readonly string[]): string {
  return '`'.repeat(Math.max(2, longestRun(lines)) + 1);
}

function longestRun(lines: readonly string[]): number {
  let longest = 0;
  for (const line of lines) {
    for (const [run] of line.matchAll(/`+/g)) longest = Math.max(longest, run.length);
  }
  return longest;
}
