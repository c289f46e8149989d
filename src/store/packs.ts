import crypto from 'node:crypto';
import fs from 'node:fs';
import { join } from 'node:path';
import type { Sha256 } from '../core/image.js';
import { isErrno, PreimageError } from '../core/problem.js';
import { BigFiles } from './big-files.js';
import { CODEC, HEADER_BYTES } from './pack-format.js';
import { isSealed, loadPackIndex, type PackIndex } from './pack-index.js';
import { PackReader } from './pack-reader.js';
import { listPacks, packPath, trashOf } from './pack-writer.js';

/** Reads contents from all packs of a store. Each read is checked against its hash. */
export class Packs {
  readonly #directory: string;
  readonly #big: BigFiles | undefined;
  readonly #piece = Buffer.allocUnsafeSlow(SMALL_BYTES);
  readonly #indexes = new Map<number, PackIndex>();
  /** Open packs by number, the one used last at the end: a long history has more packs than descriptors. */
  readonly #files = new Map<number, PackReader>();
  readonly #vouched = new Set<number>();
  #bigContents: ReadonlySet<Sha256> = new Set();
  #listed = false;

  /** `big` is where files over the size limit are kept. */
  constructor(directory: string, big = 'none') {
    this.#directory = directory;
    this.#big = big === 'none' ? undefined : new BigFiles(big);
  }

  /** Reports whether a content is in a pack; does not look for packs that came since the last call. */
  has(sha256: Sha256): boolean {
    this.#load();
    return this.#find(sha256) !== 'missing' || this.#big?.has(sha256) === true;
  }

  /**
   * Reports whether a content will stay: whoever finds it need not store it again.
   *
   * A pack without an index may have a live writer that has not made it durable yet and removes it
   * when its own work fails, so what is in it is not relied on unless somebody has vouched for it.
   */
  holds(sha256: Sha256): boolean {
    this.#load();
    for (const [number, index] of this.#indexes) {
      if ((index.sealed || this.#vouched.has(number)) && index.find(sha256) >= 0) return true;
    }
    // As they were listed, for this is asked of every file that is read; what came since is stored again.
    return this.#bigContents.has(sha256);
  }

  /** Gives how many bytes of the store a content takes, `unknown` where no repack has noted it. */
  sizeOf(sha256: Sha256): number | 'unknown' {
    this.#load();
    for (const index of this.#indexes.values()) {
      const share = index.share(sha256);
      if (share >= 0) return share;
    }
    return 'unknown';
  }

  /** Relies on packs whose writers have not ended, and that were made durable all the same. */
  vouch(numbers: Iterable<number>): void {
    for (const number of numbers) this.#vouched.add(number);
    this.close();
  }

  /** Gives the numbers of the packs that {@link holds} relies on. */
  reliedOn(): number[] {
    this.#load();
    return [...this.#indexes].flatMap(([number, index]) =>
      index.sealed || this.#vouched.has(number) ? [number] : [],
    );
  }

  /** Gives the numbers of the packs. */
  numbers(): number[] {
    return listPacks(this.#directory);
  }

  /** Reads a whole content. Throws `damaged` where it is missing or its bytes are not what they were. */
  read(sha256: Sha256): Buffer {
    const pieces: Buffer[] = [];
    this.copy(sha256, (piece) => {
      pieces.push(Buffer.from(piece));
    });
    return pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : Buffer.concat(pieces);
  }

  /**
   * Hands a content on piece by piece; the whole is checked before this returns, so what was written
   * from the pieces must not be used where it throws.
   */
  copy(sha256: Sha256, write: (piece: Uint8Array) => void): void {
    const hash = crypto.createHash('sha256');
    const source = this.#source(sha256);
    try {
      if ('bytes' in source) {
        hash.update(source.bytes);
        write(source.bytes);
      } else
        this.#copyRange(sha256, source, (piece) => {
          hash.update(piece);
          write(piece);
        });
    } finally {
      source.close();
    }
    if (hash.digest('hex') !== sha256) throw damaged(sha256, 'its bytes changed');
  }

  #copyRange(
    sha256: Sha256,
    { fd, start, length }: Range,
    take: (piece: Uint8Array) => void,
  ): void {
    const piece = length <= this.#piece.length ? this.#piece : Buffer.allocUnsafeSlow(PIECE_BYTES);
    for (let done = 0; done < length; ) {
      const want = Math.min(piece.length, length - done);
      const count = fs.readSync(fd, piece, 0, want, start + done);
      if (count === 0) throw damaged(sha256, 'it is cut off');
      take(piece.subarray(0, count));
      done += count;
    }
  }

  /** Has the next look-up look for packs that came since. */
  refresh(): void {
    this.#listed = false;
  }

  /** Forgets everything and closes what is open. */
  close(): void {
    for (const number of this.#files.keys()) this.#closeFile(number);
    this.#indexes.clear();
    this.#listed = false;
  }

  #load(): void {
    if (this.#listed) return;
    this.#listed = true;
    this.#bigContents = new Set(this.#big?.contents() ?? []);
    for (const number of listPacks(this.#directory)) {
      const known = this.#indexes.get(number);
      if (known !== undefined && (known.sealed || !isSealed(this.#directory, number))) continue;
      this.#closeFile(number);
      try {
        const fd = fs.openSync(packPath(this.#directory, number), 'r');
        try {
          this.#indexes.set(number, loadPackIndex(this.#directory, number, fd));
        } finally {
          fs.closeSync(fd);
        }
      } catch (error) {
        // RACE: a writer that had nothing to keep removed its pack after we listed it.
        if (!isErrno(error, 'ENOENT')) throw error;
      }
    }
  }

  #find(sha256: Sha256): Place | 'missing' {
    for (const [number, index] of this.#indexes) {
      const offset = index.find(sha256);
      if (offset >= 0) return { number, offset };
    }
    return 'missing';
  }

  /** Opens a pack; `gone` where a prune has retired it since its index was loaded. */
  #file(number: number): PackReader | 'gone' {
    let reader = this.#files.get(number);
    try {
      reader ??= new PackReader(fs.openSync(packPath(this.#directory, number), 'r'));
    } catch (error) {
      if (isErrno(error, 'ENOENT')) return 'gone';
      throw error;
    }
    this.#files.delete(number);
    this.#files.set(number, reader);
    const [oldest] = this.#files.keys();
    if (this.#files.size > MOST_OPEN && oldest !== undefined) this.#closeFile(oldest);
    return reader;
  }

  #closeFile(number: number): void {
    const reader = this.#files.get(number);
    if (reader === undefined) return;
    this.#files.delete(number);
    fs.closeSync(reader.fd);
  }

  /** Finds where a content lies: in a file of its own, or in a pack behind its header. */
  #source(sha256: Sha256): Source {
    if (this.#big?.has(sha256) === true) {
      const fd = fs.openSync(this.#big.path(sha256), 'r');
      const close = (): void => {
        fs.closeSync(fd);
      };
      return { fd, start: 0, length: fs.fstatSync(fd).size, close };
    }
    const place = this.#place(sha256);
    if (place === 'missing') return this.#sourceInTrash(sha256);
    const { reader, offset } = place;
    const header = reader.header(offset);
    const close = (): void => {};
    if (header === 'invalid' || header.sha256 !== sha256) {
      throw damaged(sha256, 'its record is not readable');
    }
    if (header.codec === CODEC.raw) {
      return { fd: reader.fd, start: offset + HEADER_BYTES, length: header.rawLength, close };
    }
    const bytes = reader.decode(offset, header);
    if (bytes === 'damaged') throw damaged(sha256, 'its record is not readable');
    return { bytes, close };
  }

  /** A prune may have retired what somebody was about to name: it is still there for an hour. */
  #sourceInTrash(sha256: Sha256): Source {
    const trash = trashOf(this.#directory);
    if (!fs.existsSync(trash)) throw damaged(sha256, 'it is in no pack');
    const file = join(trash, sha256);
    if (fs.existsSync(file)) {
      const fd = fs.openSync(file, 'r');
      const close = (): void => {
        fs.closeSync(fd);
      };
      return { fd, start: 0, length: fs.fstatSync(fd).size, close };
    }
    const packs = new Packs(trash);
    try {
      const close = (): void => {
        packs.close();
      };
      return { ...packs.#source(sha256), close };
    } catch (error) {
      packs.close();
      throw error;
    }
  }

  #place(sha256: Sha256): { readonly reader: PackReader; readonly offset: number } | 'missing' {
    for (const fresh of [false, true]) {
      // Packs that were still being written when they were indexed know more now, and one that was
      // retired has a successor.
      if (fresh) this.close();
      this.#load();
      const place = this.#find(sha256);
      const reader = place === 'missing' ? 'gone' : this.#file(place.number);
      if (place !== 'missing' && reader !== 'gone') return { reader, offset: place.offset };
    }
    return 'missing';
  }
}

type Place = { readonly number: number; readonly offset: number };

type Range = { readonly fd: number; readonly start: number; readonly length: number };

type Source = (Range | { readonly bytes: Buffer }) & { readonly close: () => void };

/** Packs that are kept open at once. */
const MOST_OPEN = 16;

/** Contents up to this many bytes are read in one piece into a buffer that is used again. */
const SMALL_BYTES = 64 * 1024;
const PIECE_BYTES = 4 * 1024 * 1024;

function damaged(sha256: Sha256, what: string): PreimageError {
  return new PreimageError('damaged', `The store has lost the content ${sha256}: ${what}.`, {
    hint: 'Nothing was changed. Other paths of the turn can still be rewound by naming them.',
  });
}
