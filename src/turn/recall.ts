import type { Change } from '../core/change.js';
import { type FileImage, type Image, PERMISSIONS } from '../core/image.js';
import type { Manifest } from '../core/manifest.js';
import { ENTRY, FLAG, KEY } from '../core/manifest-columns.js';
import { BigFiles } from '../store/big-files.js';

/**
 * Gives what was skipped at the opening its content back, where that can still be had: of a file over
 * the size limit of whose old inode the store had a name, and of one over the time budget that stands
 * somewhere else now.
 */
export function recallSkipped(
  directory: string,
  changes: readonly Change[],
  manifests: { readonly opened: Manifest; readonly closed: Manifest },
): readonly Change[] {
  const big = new BigFiles(directory);
  let moved: Moved | undefined;
  const recalled = changes.map((change) => {
    const { before } = change;
    if (before.kind !== 'skipped') return change;
    let image: Image | 'unknown' = 'unknown';
    if (before.why === 'too-large') image = big.recall(before);
    if (before.why === 'over-budget') {
      moved ??= new Moved(changes, manifests);
      image = moved.recall(change);
    }
    return image === 'unknown' ? change : { ...change, before: image };
  });
  big.sync();
  return recalled;
}

/**
 * Files that were renamed before there was time to copy them: their bytes came with them, and undoing a
 * rename must not end with the file gone under both names.
 *
 * A rename moves the ctime, so it is taken for the same content by inode, size and mtime, as a file over
 * the size limit is. Worst case: something wrote into it as well and set the old mtime again; then those
 * are the bytes that come back. That holds only for what is not at its path any more: elsewhere such a
 * file stays skipped.
 */
class Moved {
  readonly #opened: Manifest;
  readonly #closed: Manifest;
  /** Rows of the closing manifest by inode. */
  readonly #rows = new Map<string, number>();

  constructor(
    changes: readonly Change[],
    { opened, closed }: { readonly opened: Manifest; readonly closed: Manifest },
  ) {
    this.#opened = opened;
    this.#closed = closed;
    for (const { path, after } of changes) {
      if (after.kind !== 'content' || after.type !== 'file') continue;
      const row = closed.find(path);
      if (row >= 0) this.#rows.set(closed.inode(row), row);
    }
  }

  recall({ path }: Change): FileImage | 'unknown' {
    const [opened, closed] = [this.#opened, this.#closed];
    const was = opened.find(path);
    // Racy at the opening: a write right after it may have left the same mtime.
    if (was < 0 || opened.type(was) !== ENTRY.file || !opened.has(was, FLAG.trusted)) {
      return 'unknown';
    }
    const is = this.#rows.get(opened.inode(was));
    if (is === undefined || closed.type(is) !== ENTRY.file) return 'unknown';
    const here = closed.find(path);
    if (here >= 0 && closed.inode(here) === opened.inode(was)) return 'unknown';
    const isSame = [KEY.size, KEY.mtime].every(
      (field) => opened.key(was, field) === closed.key(is, field),
    );
    if (!isSame) return 'unknown';
    const attributes = closed.attributes(is);
    return {
      kind: 'content',
      type: 'file',
      sha256: closed.sha256(is),
      bytes: Number(opened.key(was, KEY.size)),
      mode: Number(opened.key(was, KEY.mode)) & PERMISSIONS,
      uid: Number(opened.key(was, KEY.uid)),
      gid: Number(opened.key(was, KEY.gid)),
      mtimeNs: opened.key(was, KEY.mtime),
      link: closed.has(is, FLAG.linked) ? opened.inode(was) : '',
      sparse: closed.has(is, FLAG.sparse),
      ...(attributes === undefined ? {} : { attributes }),
    };
  }
}
