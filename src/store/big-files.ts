import crypto from 'node:crypto';
import fs from 'node:fs';
import { dirname, join } from 'node:path';
import type { FileImage, Sha256, Skipped } from '../core/image.js';
import { PERMISSIONS } from '../core/image.js';
import { isErrno } from '../core/problem.js';
import { makePrivateDirectory, PRIVATE_FILE } from '../files/durable.js';
import type { LargeKept } from '../files/large-kept.js';
import type { NativePath } from '../files/native-path.js';
import { isSparse, lstat, type Stat, sameStat } from '../files/stat.js';
import { syncPlace } from '../files/sync.js';

/**
 * Keeps files over the size limit at no cost in space: as a clone where the file system can, else by a
 * hard link where the store shares its device.
 *
 * `<aa>/<sha256>` are contents; `links/<device>-<inode>` are names of files that still stand.
 */
export class BigFiles {
  readonly #directory: string;
  readonly #links: string;
  /** What has new bytes or new names since the last {@link sync}. */
  readonly #unsynced = new Set<string>();

  constructor(directory: string) {
    this.#directory = directory;
    this.#links = join(directory, 'links');
  }

  has(sha256: Sha256): boolean {
    return fs.existsSync(this.path(sha256));
  }

  /** Names the file of a content, there or not. */
  path(sha256: Sha256): string {
    return join(this.#directory, sha256.slice(0, 2), sha256);
  }

  /** Lists the contents. */
  contents(): Sha256[] {
    return listNames(this.#directory)
      .filter((name) => /^[0-9a-f]{2}$/.test(name))
      .flatMap((name) => listNames(join(this.#directory, name)))
      .filter((name) => /^[0-9a-f]{64}$/.test(name));
  }

  /** Keeps a file as well as this file system can; throws nothing that is only this file's trouble. */
  keep(path: NativePath, stat: Stat): LargeKept {
    const cloned = this.#clone(path, stat);
    return cloned.kind === 'not-kept' ? this.#link(path, stat) : cloned;
  }

  /**
   * Turns the image of a file that was over the limit into one with content, if its old inode is
   * still the one that was linked and was not written since: same size and mtime. (Its ctime moves
   * when names come and go.) `unknown` where that cannot be said.
   */
  recall({ stamp }: Skipped): FileImage | 'unknown' {
    const [dev = '', ino = '', mode = '', uid = '', gid = '', size = '', mtime = ''] =
      stamp.split(':');
    const link = join(this.#links, `${dev}-${ino}`);
    const stat = lstat(link);
    if (stat === 'absent' || !stat.isFile() || String(stat.ino) !== ino) return 'unknown';
    if (String(stat.size) !== size || String(stat.mtimeNs) !== mtime) return 'unknown';
    const sha256 = hashFile(link);
    this.#adopt(sha256, (target) => {
      fs.linkSync(link, target);
    });
    return {
      kind: 'content',
      type: 'file',
      sha256,
      bytes: Number(size),
      mode: Number(mode) & PERMISSIONS,
      uid: Number(uid),
      gid: Number(gid),
      mtimeNs: BigInt(mtime),
      link: '',
      sparse: isSparse(stat),
    };
  }

  /** Makes durable what was kept: to be called before anything names it. */
  sync(): void {
    for (const path of this.#unsynced) syncPlace(path);
    this.#unsynced.clear();
  }

  /** Forgets the links of files that no scan names any more; `named` holds `device-inode`. */
  sweepLinks(named: ReadonlySet<string>): void {
    for (const name of listNames(this.#links)) {
      if (!named.has(name)) fs.rmSync(join(this.#links, name), { force: true });
    }
  }

  #clone(path: NativePath, stat: Stat): LargeKept {
    makePrivateDirectory(this.#directory);
    const draft = join(
      this.#directory,
      `${process.pid}-${crypto.randomBytes(4).toString('hex')}.tmp`,
    );
    try {
      fs.copyFileSync(path, draft, fs.constants.COPYFILE_FICLONE_FORCE);
    } catch (error) {
      fs.rmSync(draft, { force: true });
      if (isErrno(error, ...NO_CLONE)) return NOT_KEPT;
      throw error;
    }
    try {
      fs.chmodSync(draft, PRIVATE_FILE);
      const now = lstat(path);
      if (now === 'absent' || !sameStat(now, stat)) return NOT_KEPT;
      const sha256 = hashFile(draft);
      this.#adopt(sha256, (target) => {
        fs.renameSync(draft, target);
      });
      return { kind: 'cloned', sha256, stat };
    } finally {
      fs.rmSync(draft, { force: true });
    }
  }

  #link(path: NativePath, stat: Stat): LargeKept {
    makePrivateDirectory(this.#links);
    const link = join(this.#links, `${stat.dev}-${stat.ino}`);
    this.#unsynced.add(this.#links);
    try {
      fs.linkSync(path, link);
    } catch (error) {
      if (isErrno(error, 'EEXIST')) {
        const known = lstat(link);
        const same = known !== 'absent' && known.ino === stat.ino && known.dev === stat.dev;
        if (same) return { kind: 'linked', stat };
        // A link to an inode that was used again since: it names another file now.
        fs.rmSync(link, { force: true });
        return this.#link(path, stat);
      }
      // Another device, no hard links here, or a system that lets nobody link what is another's.
      if (isErrno(error, ...NO_LINK)) return NOT_KEPT;
      throw error;
    }
    // The new name moved the file's ctime; its key must be the one that stands from now on.
    const now = lstat(path);
    const same = now !== 'absent' && now.ino === stat.ino && now.dev === stat.dev;
    return same ? { kind: 'linked', stat: now } : NOT_KEPT;
  }

  #adopt(sha256: Sha256, bring: (target: string) => void): void {
    const target = this.path(sha256);
    if (fs.existsSync(target)) return;
    makePrivateDirectory(join(this.#directory, sha256.slice(0, 2)));
    bring(target);
    for (const path of [target, dirname(target), this.#directory]) this.#unsynced.add(path);
  }
}

const NOT_KEPT: LargeKept = { kind: 'not-kept' };

/** What systems say that cannot clone these two places, or cannot read the file. */
const NO_CLONE = [
  'ENOTSUP',
  'EOPNOTSUPP',
  'EXDEV',
  'EINVAL',
  'ENOSYS',
  'ENOTTY',
  'EACCES',
  'EPERM',
  'ENOENT',
  'ELOOP',
  'ETXTBSY',
];
const NO_LINK = ['EXDEV', 'EPERM', 'EACCES', 'ENOTSUP', 'ENOSYS', 'EMLINK', 'ENOENT', 'ELOOP'];

const CHUNK_BYTES = 1024 * 1024;

function hashFile(path: string): Sha256 {
  const hash = crypto.createHash('sha256');
  const chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES);
  const fd = fs.openSync(path, 'r');
  try {
    for (;;) {
      const count = fs.readSync(fd, chunk, 0, CHUNK_BYTES, null);
      if (count === 0) return hash.digest('hex');
      hash.update(chunk.subarray(0, count));
    }
  } finally {
    fs.closeSync(fd);
  }
}

function listNames(directory: string): string[] {
  try {
    return fs.readdirSync(directory);
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return [];
    throw error;
  }
}
