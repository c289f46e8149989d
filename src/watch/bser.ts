import { Buffer } from 'node:buffer';
import os from 'node:os';

/** What a message can hold. Texts are byte strings: watchman's names need not be UTF-8. */
export type BserValue =
  | null
  | boolean
  | number
  | string
  | readonly BserValue[]
  | { readonly [key: string]: BserValue };

// https://facebook.github.io/watchman/docs/bser, version 1. Numbers lie in the machine's own order.
const TAG = {
  array: 0,
  object: 1,
  bytes: 2,
  int8: 3,
  int16: 4,
  int32: 5,
  int64: 6,
  real: 7,
  yes: 8,
  no: 9,
  nothing: 10,
  template: 11,
  skipped: 12,
  text: 13,
} as const;

const LITTLE = os.endianness() === 'LE';
const MAGIC = Buffer.from([0, 1]);
/** A message is built of names of a tree: deeper than this it is none of watchman's. */
const DEEPEST = 32;

/** Writes one message. */
export function encodeBser(value: BserValue): Buffer {
  const body = Buffer.concat(runsOf(value));
  return Buffer.concat([MAGIC, int(body.length), body]);
}

function runsOf(value: BserValue): Buffer[] {
  if (value === null) return [tag(TAG.nothing)];
  if (typeof value === 'boolean') return [tag(value ? TAG.yes : TAG.no)];
  if (typeof value === 'number') return [int(value)];
  if (typeof value === 'string') return bytes(value);
  if (isList(value)) return [tag(TAG.array), int(value.length), ...value.flatMap(runsOf)];
  const fields = Object.entries(value);
  const runs = fields.flatMap(([key, field]) => [...bytes(key), ...runsOf(field)]);
  return [tag(TAG.object), int(fields.length), ...runs];
}

// `Array.isArray` does not tell a read-only list from an object.
function isList(value: object): value is readonly BserValue[] {
  return Array.isArray(value);
}

function tag(number: number): Buffer {
  return Buffer.from([number]);
}

function bytes(text: string): Buffer[] {
  const raw = Buffer.from(text, 'latin1');
  return [tag(TAG.bytes), int(raw.length), raw];
}

function int(value: number): Buffer {
  const run = Buffer.alloc(5);
  run[0] = TAG.int32;
  if (LITTLE) run.writeInt32LE(value, 1);
  else run.writeInt32BE(value, 1);
  return run;
}

/**
 * Tells how long a message is of which the first bytes are here; `partial` where those are too few.
 * Throws a RangeError if it is none.
 */
export function lengthOfBser(head: Buffer): number | 'partial' {
  if (head.length <= MAGIC.length) return 'partial';
  if (!head.subarray(0, MAGIC.length).equals(MAGIC)) throw new RangeError('it has no magic');
  const width = INT_BYTES[head[MAGIC.length] ?? 0];
  if (width === undefined) throw new RangeError('it has no length');
  const start = MAGIC.length + 1 + width;
  return head.length < start ? 'partial' : start + new Reader(head, MAGIC.length).int();
}

/** Reads one whole message. Throws a RangeError if it is none. */
export function decodeBser(message: Buffer): BserValue {
  const reader = new Reader(message, MAGIC.length);
  reader.int();
  return reader.value(0);
}

const INT_BYTES: Readonly<Record<number, number>> = {
  [TAG.int8]: 1,
  [TAG.int16]: 2,
  [TAG.int32]: 4,
  [TAG.int64]: 8,
};

class Reader {
  readonly #message: Buffer;
  #at: number;

  constructor(message: Buffer, at: number) {
    this.#message = message;
    this.#at = at;
  }

  value(depth: number): BserValue {
    if (depth > DEEPEST) throw new RangeError('it is nested too deep');
    const kind = this.#message[this.#at];
    switch (kind) {
      case TAG.array:
        this.#at += 1;
        return this.#many(this.int(), depth);
      case TAG.object:
        this.#at += 1;
        return this.#object(depth);
      case TAG.template:
        this.#at += 1;
        return this.#template(depth);
      case TAG.bytes:
      case TAG.text:
        return this.#text();
      case TAG.real:
        this.#at += 1;
        return this.#number(8, (from) =>
          LITTLE ? this.#message.readDoubleLE(from) : this.#message.readDoubleBE(from),
        );
      case TAG.yes:
      case TAG.no:
        this.#at += 1;
        return kind === TAG.yes;
      case TAG.nothing:
      case TAG.skipped:
        this.#at += 1;
        return null;
      default:
        return this.int();
    }
  }

  int(): number {
    const width = INT_BYTES[this.#message[this.#at] ?? 0];
    if (width === undefined) throw new RangeError('it has no number where one belongs');
    this.#at += 1;
    return this.#number(width, (from) => {
      if (width === 8) {
        const long = LITTLE
          ? this.#message.readBigInt64LE(from)
          : this.#message.readBigInt64BE(from);
        return Number(long);
      }
      return LITTLE ? this.#message.readIntLE(from, width) : this.#message.readIntBE(from, width);
    });
  }

  #number(width: number, read: (from: number) => number): number {
    const from = this.#at;
    this.#at += width;
    return read(from);
  }

  #text(): string {
    const kind = this.#message[this.#at];
    if (kind !== TAG.bytes && kind !== TAG.text) throw new RangeError('it has no text for a key');
    this.#at += 1;
    const length = this.int();
    const from = this.#at;
    this.#at += length;
    if (length < 0 || this.#at > this.#message.length) throw new RangeError('it is cut off');
    return this.#message.toString('latin1', from, this.#at);
  }

  #many(count: number, depth: number): BserValue[] {
    const values: BserValue[] = [];
    for (let i = 0; i < count; i++) values.push(this.value(depth + 1));
    return values;
  }

  #object(depth: number): BserValue {
    const count = this.int();
    const fields: [string, BserValue][] = [];
    for (let i = 0; i < count; i++) fields.push([this.#text(), this.value(depth + 1)]);
    return Object.fromEntries(fields);
  }

  /** A list of objects of which the keys are said once. */
  #template(depth: number): BserValue {
    if (this.#message[this.#at] !== TAG.array) throw new RangeError('it has no list of keys');
    this.#at += 1;
    const keys = this.#many(this.int(), depth).map(String);
    const rows: BserValue[] = [];
    for (let left = this.int(); left > 0; left--) {
      rows.push(Object.fromEntries(keys.map((key) => [key, this.value(depth + 1)])));
    }
    return rows;
  }
}
