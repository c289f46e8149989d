import type { Change } from '../change.js';
import type { FileImage, Image } from '../image.js';
import { type ByteString, isRelPath, joinPath, type RelPath, relPath } from '../relpath.js';
import { type Head, type ObjectName, parsePackedRefs, parseRef } from './refs.js';

/** How a git directory is read: nothing but images, and the bytes that they name. */
export type GitView = {
  readonly changes: ReadonlyMap<RelPath, Change>;
  /** What stands at a path that is not among the changes. */
  readonly unchanged: (path: RelPath) => Image | 'unknown';
  /** The bytes of a file; `unknown` where they are not to be had. */
  readonly bytes: (image: FileImage) => Uint8Array | 'unknown';
};

/** Before or after what is told. */
export type Side = 'before' | 'after';

/** A git directory as it stood on one side. */
export class GitSide {
  readonly path: RelPath;
  readonly #view: GitView;
  readonly #side: Side;
  /** Where its refs are: a linked work tree shares those of its repository. */
  readonly #common: RelPath;
  #packed: ReadonlyMap<ByteString, ObjectName> | 'unknown' | undefined;

  constructor(path: RelPath, view: GitView, side: Side) {
    this.path = path;
    this.#view = view;
    this.#side = side;
    this.#common = relPath(path.replace(/\/worktrees\/[^/]+$/, ''));
  }

  image(name: ByteString): Image | 'unknown' {
    return this.#imageAt(joinPath(this.path, name));
  }

  exists(name: ByteString): boolean {
    const image = this.image(name);
    return image !== 'unknown' && image.kind !== 'absent';
  }

  /** The bytes of a file in it, as text where a byte is a character. */
  text(name: ByteString): ByteString | 'absent' | 'unknown' {
    return this.#textAt(joinPath(this.path, name));
  }

  bytes(name: ByteString): Uint8Array | 'absent' | 'unknown' {
    return this.#bytesAt(joinPath(this.path, name));
  }

  head(): Head {
    const text = this.text('HEAD');
    if (text === 'absent') return { kind: 'none' };
    if (text === 'unknown') return { kind: 'unknown' };
    const value = parseRef(text);
    if (value === 'unreadable') return { kind: 'unknown' };
    if (value.kind === 'object') return { kind: 'detached', commit: value.id };
    // What a repository says whose refs are in tables.
    if (value.ref === 'refs/heads/.invalid') return { kind: 'unknown' };
    const branch = value.ref.replace(/^refs\/heads\//, '');
    return { kind: 'branch', branch, commit: this.ref(value.ref) };
  }

  /** The object that a ref names: its own file first, then `packed-refs`. */
  ref(ref: ByteString): ObjectName {
    // A name out of a file may be anything.
    if (ref === '' || !isRelPath(ref)) return 'unknown';
    const text = this.#textAt(joinPath(this.#common, ref));
    if (text === 'unknown') return 'unknown';
    if (text === 'absent') {
      const packed = this.packedRefs();
      return packed === 'unknown' ? 'unknown' : (packed.get(ref) ?? 'none');
    }
    const value = parseRef(text);
    if (value === 'unreadable') return 'unknown';
    return value.kind === 'object' ? value.id : `ref: ${value.ref}`;
  }

  packedRefs(): ReadonlyMap<ByteString, ObjectName> | 'unknown' {
    if (this.#packed === undefined) {
      const text = this.#textAt(joinPath(this.#common, 'packed-refs'));
      this.#packed =
        text === 'unknown' ? 'unknown' : parsePackedRefs(text === 'absent' ? '' : text);
    }
    return this.#packed;
  }

  #imageAt(path: RelPath): Image | 'unknown' {
    return this.#view.changes.get(path)?.[this.#side] ?? this.#view.unchanged(path);
  }

  #textAt(path: RelPath): ByteString | 'absent' | 'unknown' {
    const bytes = this.#bytesAt(path);
    return typeof bytes === 'string' ? bytes : Buffer.from(bytes).toString('latin1');
  }

  #bytesAt(path: RelPath): Uint8Array | 'absent' | 'unknown' {
    const image = this.#imageAt(path);
    if (image === 'unknown' || image.kind === 'skipped') return 'unknown';
    // A directory in the place of a file (`refs/heads/a` and then `refs/heads/a/b`) is no file.
    if (image.kind === 'absent' || image.type === 'directory') return 'absent';
    return image.type === 'file' ? this.#view.bytes(image) : 'unknown';
  }
}
