import type { FileImage, SymlinkImage } from '../image.js';
import type { ByteString } from '../relpath.js';

/** What git knows: files and links. */
export type Leaf = FileImage | SymlinkImage;

/** Gives the mode of a file or link as git has it: it knows only whether a file may be executed. */
export function gitMode(leaf: Leaf): string {
  if (leaf.type === 'symlink') return '120000';
  return (leaf.mode & 0o111) === 0 ? '100644' : '100755';
}

/** Quotes a name as git does: C escapes and three octal digits a byte, in double quotes. */
export function quoteName(name: ByteString): string {
  let out = '';
  for (let i = 0; i < name.length; i++) {
    const code = name.charCodeAt(i);
    const char = name.charAt(i);
    const plain = code >= 0x20 && code < 0x7f ? char : `\\${code.toString(8).padStart(3, '0')}`;
    out += C_ESCAPES[char] ?? plain;
  }
  return out === name ? name : `"${out}"`;
}

const C_ESCAPES: Readonly<Record<string, string>> = {
  '\u0007': '\\a',
  '\b': '\\b',
  '\t': '\\t',
  '\n': '\\n',
  '\v': '\\v',
  '\f': '\\f',
  '\r': '\\r',
  '"': '\\"',
  '\\': '\\\\',
};
