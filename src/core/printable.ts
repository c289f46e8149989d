import { type ByteString, toText } from './relpath.js';

/**
 * Renders a name so that a terminal shows it and does nothing else: control characters, escape
 * sequences, bidirectional overrides and bytes that are not UTF-8 come out as C-like escapes in
 * double quotes; every other name comes out as it is.
 */
export function printable(bytes: ByteString): string {
  if (bytes === '') return '.';
  const { text, lossy } = toText(bytes);
  if (!lossy && !UNPRINTABLE.test(text) && !NEEDS_QUOTES.test(text)) return text;
  return `"${lossy ? escapeBytes(bytes) : escapeText(text)}"`;
}

/** Renders any text from outside (a label, a command) on one line with the same escapes. */
export function printableText(text: string): string {
  return UNPRINTABLE.test(text) ? escapeText(text).replaceAll('\\"', '"') : text;
}

// Control (Cc), format (Cf: bidi overrides, zero-width), line and paragraph separators, surrogates.
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u;
const NEEDS_QUOTES = /^["\s]|\s$|\\/u;

function escapeText(text: string): string {
  let out = '';
  for (const char of text) {
    if (char === '"' || char === '\\') out += `\\${char}`;
    else if (UNPRINTABLE.test(char)) out += escapeChar(char);
    else out += char;
  }
  return out;
}

function escapeChar(char: string): string {
  const named = NAMED[char];
  if (named !== undefined) return named;
  return [...Buffer.from(char, 'utf8')].map(escapeByte).join('');
}

function escapeBytes(bytes: ByteString): string {
  let out = '';
  for (let i = 0; i < bytes.length; i++) {
    const code = bytes.charCodeAt(i);
    const char = bytes.charAt(i);
    if (char === '"' || char === '\\') out += `\\${char}`;
    else if (code >= 0x20 && code < 0x7f) out += char;
    else out += NAMED[char] ?? escapeByte(code);
  }
  return out;
}

function escapeByte(byte: number): string {
  return `\\x${byte.toString(16).padStart(2, '0')}`;
}

const NAMED: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };
