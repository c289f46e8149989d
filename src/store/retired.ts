import fs from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { isErrno } from '../core/problem.js';
import { PRIVATE_FILE, writeAll, writeDurably } from '../files/durable.js';

/**
 * A pack (its number as eight digits) or a file over the limit (its SHA-256) that left the store on
 * purpose. `into` is where what was still needed of a pack went: the number of another pack, `none`
 * where nothing was, `lost` where some of it could not be saved from damage.
 */
export type Retired = { readonly name: string; readonly into: string };

/**
 * The list of what left the store on purpose, a line each, only ever longer: its length tells whether
 * something left since. A line is `<name> <into> <CRC-32 of the two>`.
 */
export class RetiredList {
  readonly path: string;

  /** Takes the directory of the packs. */
  constructor(packs: string) {
    this.path = join(packs, RETIRED_FILE);
  }

  /** Gives the list's length in bytes: see {@link since}. */
  position(): number {
    return fs.statSync(this.path, { throwIfNoEntry: false })?.size ?? 0;
  }

  /** Lists what left after a position, oldest first. */
  since(position: number): Retired[] {
    if (this.position() === position) return [];
    return this.#lines()
      .bytes.subarray(position)
      .toString('latin1')
      .split('\n')
      .flatMap(parseRetired);
  }

  all(): Retired[] {
    return this.since(0);
  }

  /** Adds to the list, durably: before what is named leaves. */
  add(entries: readonly Retired[]): void {
    const { bytes, torn } = this.#lines();
    const fd = fs.openSync(this.path, fs.constants.O_WRONLY | fs.constants.O_CREAT, PRIVATE_FILE);
    try {
      // After a crash the last line may be half there: what follows must be a line of its own.
      const text = `${torn ? '\n' : ''}${entries.map(format).join('')}`;
      writeAll(fd, Buffer.from(text, 'latin1'), bytes.length);
      fs.fsyncSync(fd);
    } finally {
      fs.closeSync(fd);
    }
  }

  /** Counts the lines that are damaged; a last line that was torn off by a crash is none. */
  damagedLines(): number {
    const { whole, rest } = this.#split();
    const damaged = whole.filter((line) => line !== '' && parseRetired(line).length === 0).length;
    return damaged + (hasLostItsEnd(rest) ? 1 : 0);
  }

  /** Writes the list anew without the lines that are damaged. */
  rewrite(): void {
    const { whole, rest } = this.#split();
    const lines = hasLostItsEnd(rest) ? [...whole, rest.slice(0, -1)] : whole;
    const text = lines.flatMap(parseRetired).map(format).join('');
    writeDurably(this.path, [Buffer.from(text, 'latin1')]);
  }

  #split(): { readonly whole: string[]; readonly rest: string } {
    const whole = this.#lines().bytes.toString('latin1').split('\n');
    const rest = whole.pop() ?? '';
    return { whole, rest };
  }

  #lines(): { readonly bytes: Buffer; readonly torn: boolean } {
    try {
      const bytes = fs.readFileSync(this.path);
      return { bytes, torn: bytes.length > 0 && bytes.at(-1) !== NEWLINE };
    } catch (error) {
      if (isErrno(error, 'ENOENT')) return { bytes: Buffer.alloc(0), torn: false };
      throw error;
    }
  }
}

/** Name of the list in the directory of the packs. */
const RETIRED_FILE = 'retired';

/** Names a pack as its files and the list do. */
export function packName(number: number): string {
  return String(number).padStart(8, '0');
}

/** Gives the number of a pack by its name, `none` where it names something else. */
export function packNumber(name: string): number | 'none' {
  return /^\d{8}$/.test(name) ? Number(name) : 'none';
}

const NEWLINE = 0x0a;

/** A whole line whose end was changed is damage; half a line is what a crash leaves. */
function hasLostItsEnd(rest: string): boolean {
  return parseRetired(rest.slice(0, -1)).length > 0;
}

function format({ name, into }: Retired): string {
  const said = `${name} ${into}`;
  return `${said} ${crc32(said).toString(16).padStart(8, '0')}\n`;
}

function parseRetired(line: string): Retired[] {
  const match = /^(\d{8}|[0-9a-f]{64}) (\d{8}|none|lost) [0-9a-f]{8}$/.exec(line);
  const [, name = '', into = ''] = match ?? [];
  return match !== null && format({ name, into }) === `${line}\n` ? [{ name, into }] : [];
}
