import crypto from 'node:crypto';
import zlib from 'node:zlib';
import { type Change, isNoChange } from '../core/change.js';
import type { Absent, Content, FileImage } from '../core/image.js';
import { base85Lines } from '../core/patch/base85.js';
import { gitMode, type Leaf, quoteName } from '../core/patch/git-names.js';
import {
  DIFF_LIMITS,
  type DiffLimits,
  diffTexts,
  hunkHead,
  isBinary,
} from '../core/patch/text-diff.js';
import { printable } from '../core/printable.js';
import { type ByteString, fromText } from '../core/relpath.js';
import { formatSize } from '../core/units.js';

/** One change as a git-style patch. */
export type Patch = {
  /** Byte strings without their LF, as bytes that are no UTF-8 come out as they are. */
  readonly lines: readonly ByteString[];
  /** What of it is not in the lines: then they do not make the one out of the other. */
  readonly left: 'nothing' | 'binary' | 'too-large' | 'not-captured';
  readonly added: number;
  readonly removed: number;
};

/** How a patch is made. */
export type PatchOptions = {
  /** Writes binary files in full, as `git diff --binary` does, instead of naming them. */
  readonly binary?: boolean;
  readonly limits?: DiffLimits;
  /** A larger file is not looked into, in bytes; 32 MiB if left out. */
  readonly largest?: number;
};

/** Reads the bytes of a file image. */
export type ReadImage = (image: FileImage) => Buffer;

/** A larger text is not looked into. */
const MAX_TEXT = 32 * 1024 * 1024;
/** A larger content is not written into a binary patch. */
const MAX_BINARY = 64 * 1024 * 1024;

/**
 * Makes the patch of one change, as `git apply` takes it. What is not captured or too large is said in
 * a line of comment; directories and pipes, of which git knows nothing, give no line.
 */
export function makePatch(change: Change, read: ReadImage, options: PatchOptions = {}): Patch {
  const { path, before, after } = change;
  if (before.kind === 'skipped' || after.kind === 'skipped') {
    const [skipped] = [before, after].flatMap((image) => (image.kind === 'skipped' ? [image] : []));
    const reason = fromText(skipped?.reason ?? '');
    const line = `# not captured: ${fromText(printable(path))} (${reason})`;
    return { ...EMPTY, lines: [line], left: 'not-captured' };
  }
  const old = leafOf(before);
  const now = leafOf(after);
  if ((old === undefined && now === undefined) || isNoChange(change)) return EMPTY;
  const one = new PatchOfOne(path, read, options);
  // git has no change of type: it deletes the one and makes the other.
  if (old !== undefined && now !== undefined && old.type !== now.type) {
    const [gone, made] = [one.make(old, undefined), one.make(undefined, now)];
    return {
      lines: [...gone.lines, ...made.lines],
      left: gone.left === 'nothing' ? made.left : gone.left,
      added: made.added,
      removed: gone.removed,
    };
  }
  return one.make(old, now);
}

const EMPTY: Patch = { lines: [], left: 'nothing', added: 0, removed: 0 };

function leafOf(image: Content | Absent): Leaf | undefined {
  if (image.kind === 'absent') return undefined;
  return image.type === 'file' || image.type === 'symlink' ? image : undefined;
}

class PatchOfOne {
  readonly #path: ByteString;
  readonly #read: ReadImage;
  readonly #options: PatchOptions;

  constructor(path: ByteString, read: ReadImage, options: PatchOptions) {
    this.#path = path;
    this.#read = read;
    this.#options = options;
  }

  make(old: Leaf | undefined, now: Leaf | undefined): Patch {
    const head = this.#head(old, now);
    const largest = Math.max(sizeOf(old), sizeOf(now));
    const wantsBinary = this.#options.binary === true;
    const maxText = this.#options.largest ?? MAX_TEXT;
    if (largest > (wantsBinary ? MAX_BINARY : maxText)) {
      return this.#tooLarge(old, now, `${formatSize(largest)}`);
    }
    if (old !== undefined && now !== undefined && isSameContent(old, now)) {
      // Only the mode differs; what git does not know is left out.
      return { ...EMPTY, lines: head.length > 1 ? head : [] };
    }
    const [before, after] = [this.#bytes(old), this.#bytes(now)];
    // An empty file came or went.
    if (before.length === 0 && after.length === 0) return { ...EMPTY, lines: head };
    if (isBinary(before) || isBinary(after)) {
      return wantsBinary ? this.#literal(head, before, after, { old, now }) : this.#named(old, now);
    }
    const diff =
      largest > maxText
        ? ({ kind: 'too-large', bytes: largest } as const)
        : diffTexts(before, after, this.#options.limits ?? DIFF_LIMITS);
    if (diff.kind === 'too-large') {
      if (wantsBinary) return this.#literal(head, before, after, { old, now });
      return this.#tooLarge(old, now, `${formatSize(diff.bytes)} differ`);
    }
    const { from, to } = this.#sides(old, now);
    // git ends a name with blanks in it by a tab, so that a time stamp could follow.
    const end = (name: string): string => (/^[^"].* /s.test(name) ? '\t' : '');
    const hunks = diff.hunks.flatMap((hunk) => [hunkHead(hunk), ...hunk.lines]);
    const lines = [...head, `--- ${from}${end(from)}`, `+++ ${to}${end(to)}`, ...hunks];
    return { lines, left: 'nothing', added: diff.added, removed: diff.removed };
  }

  #head(old: Leaf | undefined, now: Leaf | undefined): string[] {
    const head = [`diff --git ${quoteName(`a/${this.#path}`)} ${quoteName(`b/${this.#path}`)}`];
    const oldMode = old === undefined ? '' : gitMode(old);
    const newMode = now === undefined ? '' : gitMode(now);
    if (old === undefined) head.push(`new file mode ${newMode}`);
    else if (now === undefined) head.push(`deleted file mode ${oldMode}`);
    else if (oldMode !== newMode) head.push(`old mode ${oldMode}`, `new mode ${newMode}`);
    return head;
  }

  #sides(old: Leaf | undefined, now: Leaf | undefined): { from: string; to: string } {
    return {
      from: old === undefined ? '/dev/null' : quoteName(`a/${this.#path}`),
      to: now === undefined ? '/dev/null' : quoteName(`b/${this.#path}`),
    };
  }

  /** Contents that differ and are not shown: git refuses such a patch, which it then should. */
  #named(old: Leaf | undefined, now: Leaf | undefined, ids?: readonly string[]): Patch {
    const { from, to } = this.#sides(old, now);
    const mode = old !== undefined && now !== undefined && gitMode(old) === gitMode(now);
    const [oldId, newId] = ids ?? [blobId(old, this.#bytes(old)), blobId(now, this.#bytes(now))];
    const index = `index ${oldId}..${newId}${mode && old !== undefined ? ` ${gitMode(old)}` : ''}`;
    const lines = [...this.#head(old, now), index, `Binary files ${from} and ${to} differ`];
    return { ...EMPTY, lines, left: 'binary' };
  }

  #tooLarge(old: Leaf | undefined, now: Leaf | undefined, size: string): Patch {
    const ids = [old, now].map((leaf) => (leaf === undefined ? NO_BLOB : UNKNOWN_BLOB));
    const { lines } = this.#named(old, now, ids);
    const line = `# too large to be shown: ${fromText(printable(this.#path))} (${size})`;
    return { ...EMPTY, lines: [line, ...lines], left: 'too-large' };
  }

  #literal(
    head: readonly string[],
    before: Buffer,
    after: Buffer,
    { old, now }: { readonly old: Leaf | undefined; readonly now: Leaf | undefined },
  ): Patch {
    const lines = [
      ...head,
      `index ${blobId(old, before)}..${blobId(now, after)}`,
      'GIT binary patch',
      ...literalLines(after),
      // The way back, for `git apply --reverse`.
      ...literalLines(before),
    ];
    return { ...EMPTY, lines };
  }

  #bytes(leaf: Leaf | undefined): Buffer {
    if (leaf === undefined) return Buffer.alloc(0);
    return leaf.type === 'symlink' ? Buffer.from(leaf.target, 'latin1') : this.#read(leaf);
  }
}

function literalLines(bytes: Buffer): string[] {
  return [`literal ${bytes.length}`, ...base85Lines(zlib.deflateSync(bytes)), ''];
}

function sizeOf(leaf: Leaf | undefined): number {
  if (leaf === undefined) return 0;
  return leaf.type === 'file' ? leaf.bytes : leaf.target.length;
}

function isSameContent(old: Leaf, now: Leaf): boolean {
  if (old.type === 'symlink' || now.type === 'symlink') {
    return old.type === 'symlink' && now.type === 'symlink' && old.target === now.target;
  }
  return old.sha256 === now.sha256;
}

const NO_BLOB = '0'.repeat(40);
/** What git cannot take for the name of any content, so that it refuses the patch. */
const UNKNOWN_BLOB = 'f'.repeat(40);

/** Names a content as git does: SHA-1 over `blob`, its length and its bytes; zeros for none. */
function blobId(leaf: Leaf | undefined, bytes: Buffer): string {
  if (leaf === undefined) return NO_BLOB;
  return crypto.createHash('sha1').update(`blob ${bytes.length}\0`).update(bytes).digest('hex');
}
