import crypto from 'node:crypto';
import fs from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import type { ContentSink, ContentStream } from '../core/content-sink.js';
import type { Sha256 } from '../core/image.js';
import { isErrno } from '../core/problem.js';
import { PRIVATE_FILE, syncDirectory, writeAll } from '../files/durable.js';
import { CODEC, HEADER_BYTES, type RecordHeader, writeHeader } from './pack-format.js';
import { writePackIndex } from './pack-index.js';
import { PackTable } from './pack-table.js';
import { packName, packNumber, RetiredList } from './retired.js';

/** Records up to this many bytes are gathered before they are written. */
const BUFFER_BYTES = 1024 * 1024;

/**
 * Appends contents to a pack of its own: one writer a pack, so no lock is needed. The file is made at
 * the first content; a writer that gets none leaves nothing behind.
 */
export class PackWriter implements ContentSink {
  readonly #directory: string;
  readonly #known: (sha256: Sha256) => boolean;
  readonly #table = new PackTable();
  readonly #buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES);
  #buffered = 0;
  #file: { readonly fd: number; readonly number: number } | undefined;
  /** Bytes of the file that are written, the buffer not counted. */
  #length = 0;
  #repacked = false;

  /** `known` tells which contents other packs hold already. */
  constructor(directory: string, known: (sha256: Sha256) => boolean) {
    this.#directory = directory;
    this.#known = known;
  }

  /** Number of the pack, `none` while nothing was written. */
  get number(): number | 'none' {
    return this.#file?.number ?? 'none';
  }

  has(sha256: Sha256): boolean {
    return this.#table.find(sha256) >= 0 || this.#known(sha256);
  }

  put(sha256: Sha256, bytes: Uint8Array): void {
    const offset = this.#record(headerFor(sha256, bytes.length), bytes);
    this.#table.set(sha256, offset, HEADER_BYTES + bytes.length);
  }

  /**
   * Puts a record that is not raw and gives its place. `share` is how many bytes of the pack its content
   * takes; without one it is a record that others build on and that nobody asks for by its hash.
   */
  putCoded(
    content: Pick<RecordHeader, 'sha256' | 'codec' | 'rawLength'>,
    payload: Uint8Array,
    share?: number,
  ): number {
    const sums = { storedLength: payload.length, payloadSum: crc32(payload) };
    const offset = this.#record({ ...content, ...sums }, payload);
    const { sha256 } = content;
    if (share !== undefined) this.#table.set(sha256, offset, share);
    return offset;
  }

  /** Where the record of a content lies that was put. */
  placeOf(sha256: Sha256): number | 'none' {
    const row = this.#table.find(sha256);
    return row < 0 ? 'none' : this.#table.offset(row);
  }

  /** Says in the index that a repack wrote this pack: nothing in it is larger than need be. */
  markRepacked(): void {
    this.#repacked = true;
  }

  /** Puts bytes whose hash is not known yet and gives it. */
  add(bytes: Uint8Array): Sha256 {
    const sha256 = crypto.hash('sha256', bytes, 'hex');
    if (!this.has(sha256)) this.put(sha256, bytes);
    return sha256;
  }

  stream(): ContentStream {
    this.#flush();
    const offset = this.#length;
    this.#write(new Uint8Array(HEADER_BYTES));
    const start = this.#length;
    return {
      write: (bytes) => {
        this.#write(bytes);
      },
      commit: (sha256) => {
        const header = Buffer.alloc(HEADER_BYTES);
        writeHeader(header, 0, headerFor(sha256, this.#length - start));
        writeAll(this.#descriptor(), header, offset);
        this.#table.set(sha256, offset, this.#length - offset);
      },
      abort: () => {
        fs.ftruncateSync(this.#descriptor(), offset);
        this.#length = offset;
      },
    };
  }

  /** Hands everything to the system, without waiting for the disk. */
  flush(): void {
    this.#flush();
  }

  /** Makes all contents durable: to be called before anything names them. */
  sync(): void {
    this.#flush();
    if (this.#file === undefined) return;
    fs.fdatasyncSync(this.#file.fd);
    syncDirectory(this.#directory);
  }

  /** Ends the pack and writes its index. */
  close(): void {
    this.#flush();
    if (this.#file === undefined) return;
    writePackIndex(this.#directory, this.#file.number, {
      entries: this.#table,
      packLength: this.#length,
      repacked: this.#repacked,
    });
    fs.closeSync(this.#file.fd);
    this.#file = undefined;
  }

  /** Ends the pack and removes it: nothing may name its contents. */
  discard(): void {
    if (this.#file === undefined) return;
    fs.closeSync(this.#file.fd);
    fs.rmSync(packPath(this.#directory, this.#file.number), { force: true });
    this.#file = undefined;
  }

  /** Appends a record and gives its place. */
  #record(header: RecordHeader, payload: Uint8Array): number {
    const total = HEADER_BYTES + payload.length;
    if (this.#buffered + total > BUFFER_BYTES) this.#flush();
    const offset = this.#length + this.#buffered;
    writeHeader(this.#buffer, this.#buffered, header);
    this.#buffered += HEADER_BYTES;
    if (total > BUFFER_BYTES) {
      this.#flush();
      this.#write(payload);
    } else {
      this.#buffer.set(payload, this.#buffered);
      this.#buffered += payload.length;
    }
    return offset;
  }

  #flush(): void {
    if (this.#buffered === 0) return;
    const bytes = this.#buffer.subarray(0, this.#buffered);
    this.#buffered = 0;
    this.#write(bytes);
  }

  #write(bytes: Uint8Array): void {
    // Always at a known place: after a failed write what follows does not land behind a torn piece.
    writeAll(this.#descriptor(), bytes, this.#length);
    this.#length += bytes.length;
  }

  #descriptor(): number {
    this.#file ??= createPack(this.#directory);
    return this.#file.fd;
  }
}

/** Makes durable what another writer, dead or alive, has appended to its pack; false if it is gone. */
export function syncPack(directory: string, number: number): boolean {
  let fd: number;
  try {
    fd = fs.openSync(packPath(directory, number), 'r+');
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return false;
    throw error;
  }
  try {
    fs.fdatasyncSync(fd);
  } finally {
    fs.closeSync(fd);
  }
  syncDirectory(directory);
  return true;
}

/** Names a pack's file. */
export function packPath(directory: string, number: number): string {
  return join(directory, `${packName(number)}.pack`);
}

/** Names the directory in which packs wait for their end. */
export function trashOf(directory: string): string {
  return join(directory, 'trash');
}

/** Lists the numbers of the packs in a directory, lowest first. */
export function listPacks(directory: string): number[] {
  return fs
    .readdirSync(directory)
    .flatMap((name) => {
      const match = /^(\d{8})\.pack$/.exec(name);
      return match === null ? [] : [Number(match[1])];
    })
    .sort((a, b) => a - b);
}

function headerFor(sha256: Sha256, length: number): RecordHeader {
  return { sha256, codec: CODEC.raw, rawLength: length, storedLength: length, payloadSum: 0 };
}

function createPack(directory: string): { readonly fd: number; readonly number: number } {
  for (let number = highestNumber(directory) + 1; ; number++) {
    try {
      return { fd: fs.openSync(packPath(directory, number), 'wx+', PRIVATE_FILE), number };
    } catch (error) {
      if (!isErrno(error, 'EEXIST')) throw error;
    }
  }
}

/** A number is never used again: manifests still name the pack that had it. */
function highestNumber(directory: string): number {
  let highest = listPacks(directory).at(-1) ?? 0;
  for (const { name } of new RetiredList(directory).all()) {
    const number = packNumber(name);
    if (number !== 'none') highest = Math.max(highest, number);
  }
  return highest;
}
