import { createHash } from 'node:crypto';
import { structuredPatch } from 'diff';
import {
  type Absent,
  type Change,
  type Content,
  type FileImage,
  fromText,
  printable,
  type SymlinkImage,
} from '../index.js';
import { tint } from './style.js';

/** How a patch is made. */
export type PatchOptions = {
  /** Reads a file's bytes as a byte string. */
  readonly read: (image: FileImage) => string;
  /** Adds colours. */
  readonly color: boolean;
  /** Makes control characters visible: for a terminal, where they could do harm. */
  readonly showControls: boolean;
};

/**
 * Makes the git-style patch of one change as a byte string, so that bytes that are no UTF-8 come out
 * as they are. Binary files are named, not dumped; directories and pipes, of which git knows nothing,
 * give `''`.
 */
export function patchOf(change: Change, options: PatchOptions): string {
  const { path, before, after } = change;
  if (before.kind === 'skipped' || after.kind === 'skipped') {
    const reason =
      before.kind === 'skipped' ? before.reason : after.kind === 'skipped' ? after.reason : '';
    return `# not captured: ${fromText(printable(path))} (${fromText(reason)})\n`;
  }
  const old = leafOf(before);
  const now = leafOf(after);
  if (old === undefined && now === undefined) return '';
  // git has no change of type: it deletes the one and makes the other.
  if (old !== undefined && now !== undefined && old.type !== now.type) {
    return one(path, old, undefined, options) + one(path, undefined, now, options);
  }
  return one(path, old, now, options);
}

/** What git knows: files and links. */
type Leaf = FileImage | SymlinkImage;

function leafOf(image: Content | Absent): Leaf | undefined {
  if (image.kind === 'absent') return undefined;
  return image.type === 'file' || image.type === 'symlink' ? image : undefined;
}

function one(
  path: string,
  old: Leaf | undefined,
  now: Leaf | undefined,
  options: PatchOptions,
): string {
  const a = quoteName(`a/${path}`);
  const b = quoteName(`b/${path}`);
  const head = [`diff --git ${a} ${b}`];
  const oldMode = old === undefined ? '' : gitMode(old);
  const newMode = now === undefined ? '' : gitMode(now);
  if (old === undefined) head.push(`new file mode ${newMode}`);
  else if (now === undefined) head.push(`deleted file mode ${oldMode}`);
  else if (oldMode !== newMode) head.push(`old mode ${oldMode}`, `new mode ${newMode}`);
  const oldText = textOf(old, options);
  const newText = textOf(now, options);
  const from = old === undefined ? '/dev/null' : a;
  const to = now === undefined ? '/dev/null' : b;
  if (oldText === newText) {
    // Only the mode differs (or an empty file came or went); what git does not know is left out.
    return head.length > 1 ? painted(head, options) : '';
  }
  if (isBinary(oldText) || isBinary(newText)) {
    // git reads the line only after one that names both contents in full.
    const mode = oldMode !== '' && oldMode === newMode ? ` ${oldMode}` : '';
    head.push(`index ${blobId(old, oldText)}..${blobId(now, newText)}${mode}`);
    return painted([...head, `Binary files ${from} and ${to} differ`], options);
  }
  const hunks = hunksOf(oldText, newText);
  if (hunks === 'too-long') {
    return painted([...head, `# too much of it changed to be shown: ${from}`], options);
  }
  // git ends a name with blanks in it by a tab, so that a time stamp could follow.
  const end = (name: string): string => (name.includes(' ') && !name.startsWith('"') ? '\t' : '');
  return painted([...head, `--- ${from}${end(from)}`, `+++ ${to}${end(to)}`, ...hunks], options);
}

function textOf(leaf: Leaf | undefined, options: PatchOptions): string {
  if (leaf === undefined) return '';
  return leaf.type === 'symlink' ? leaf.target : options.read(leaf);
}

/** Names a content as git does: SHA-1 over `blob`, its length and its bytes; zeros for none. */
function blobId(leaf: Leaf | undefined, text: string): string {
  if (leaf === undefined) return '0'.repeat(40);
  const bytes = Buffer.from(text, 'latin1');
  const head = `blob ${bytes.length}\0`;
  return createHash('sha1').update(head).update(bytes).digest('hex');
}

/** A search for the shortest edit takes quadratic time; after so long it is given up. */
const DIFF_TIMEOUT_MS = 5000;

function hunksOf(oldText: string, newText: string): string[] | 'too-long' {
  const patch = structuredPatch('a', 'b', oldText, newText, '', '', {
    context: 3,
    timeout: DIFF_TIMEOUT_MS,
  });
  if (patch === undefined) return 'too-long';
  return patch.hunks.flatMap(({ oldStart, oldLines, newStart, newLines, lines }) => {
    // An empty side starts at line 0, as git writes it.
    const from = `${oldLines === 0 ? oldStart - 1 : oldStart},${oldLines}`;
    const to = `${newLines === 0 ? newStart - 1 : newStart},${newLines}`;
    return [`@@ -${from} +${to} @@`, ...lines];
  });
}

/** git's own rule: a NUL among the first 8,000 bytes. */
function isBinary(text: string): boolean {
  return text.slice(0, 8000).includes('\0');
}

function gitMode(leaf: Leaf): string {
  if (leaf.type === 'symlink') return '120000';
  return (leaf.mode & 0o111) === 0 ? '100644' : '100755';
}

/** Quotes a name as git does: C escapes and three octal digits a byte, in double quotes. */
function quoteName(name: string): string {
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

function painted(lines: readonly string[], { color, showControls }: PatchOptions): string {
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
function visible(line: string): string {
  return line.replace(CONTROL, (char) => `\\x${char.charCodeAt(0).toString(16).padStart(2, '0')}`);
}

const CONTROL = /[^\P{Cc}\t\u0080-\u009f]/gu;
