/** git's digits (base85.c): those of RFC 1924. */
const DIGITS =
  '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~';

/** Bytes on one line of a binary patch. */
const LINE_BYTES = 52;

/**
 * Writes bytes as the lines of a git binary patch: a letter for the count (`A` to `Z` for 1 to 26, `a`
 * to `z` for 27 to 52), then five digits for every four bytes, the last of them filled up with zeros.
 */
export function base85Lines(bytes: Buffer): string[] {
  const lines: string[] = [];
  for (let at = 0; at < bytes.length; at += LINE_BYTES) {
    lines.push(lineOf(bytes.subarray(at, at + LINE_BYTES)));
  }
  return lines;
}

function lineOf(bytes: Buffer): string {
  const { length } = bytes;
  let out = String.fromCharCode(length <= 26 ? 64 + length : 96 + length - 26);
  for (let at = 0; at < length; at += 4) {
    let word = 0;
    for (let i = 0; i < 4; i++) word = word * 256 + (bytes[at + i] ?? 0);
    let digits = '';
    for (let i = 0; i < 5; i++) {
      digits = DIGITS.charAt(word % 85) + digits;
      word = Math.floor(word / 85);
    }
    out += digits;
  }
  return out;
}
