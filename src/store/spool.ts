import fs from 'node:fs';
import * as v from 'valibot';
import { isErrno } from '../core/problem.js';
import { OPEN, PRIVATE_FILE, writeAll } from '../files/durable.js';

/** A file of JSON lines that one process appends to while others read it: whole lines only. */
export class SpoolWriter {
  readonly #fd: number;

  /** Throws where the directory is gone: then nobody reads it any more. */
  constructor(path: string) {
    this.#fd = fs.openSync(path, OPEN.append, PRIVATE_FILE);
  }

  append(lines: readonly unknown[]): void {
    const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
    writeAll(this.#fd, Buffer.from(text, 'utf8'));
  }

  /** Makes what was appended durable. */
  sync(): void {
    fs.fdatasyncSync(this.#fd);
  }

  close(): void {
    fs.closeSync(this.#fd);
  }
}

/** Reads a spool piece by piece as it grows. */
export class SpoolReader<Schema extends v.GenericSchema> {
  readonly #path: string;
  readonly #schema: Schema;
  #offset = 0;
  #rest = '';

  constructor(path: string, schema: Schema) {
    this.#path = path;
    this.#schema = schema;
  }

  /**
   * Gives the lines that came since the last call. A torn last line is left for the next call; a line
   * that does not fit the schema is dropped, for a spool only ever adds to what the scan finds.
   */
  read(): v.InferOutput<Schema>[] {
    const lines: v.InferOutput<Schema>[] = [];
    const parts = (this.#rest + this.#more()).split('\n');
    this.#rest = parts.pop() ?? '';
    for (const part of parts) {
      const parsed = v.safeParse(this.#schema, parseJson(part));
      if (parsed.success) lines.push(parsed.output);
    }
    return lines;
  }

  #more(): string {
    let fd: number;
    try {
      fd = fs.openSync(this.#path, 'r');
    } catch (error) {
      if (isErrno(error, 'ENOENT')) return '';
      throw error;
    }
    try {
      const size = fs.fstatSync(fd).size - this.#offset;
      if (size <= 0) return '';
      const bytes = Buffer.alloc(size);
      const count = fs.readSync(fd, bytes, 0, size, this.#offset);
      this.#offset += count;
      // Lines are ASCII but for names, and a writer appends whole lines: a torn character is torn
      // with its line only where a crash cut the file, and then the line is dropped.
      return bytes.toString('utf8', 0, count);
    } finally {
      fs.closeSync(fd);
    }
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
