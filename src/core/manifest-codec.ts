import * as v from 'valibot';
import { Manifest } from './manifest.js';
import { type Columns, HASH_BYTES, KEY_FIELDS, type ManifestMeta } from './manifest-columns.js';

/** Version of the file format; a reader takes no other. */
const MANIFEST_VERSION = 1;

const MAGIC = 'PREIMG-M';
const PREFIX_BYTES = 16;
const ALIGN = 8;

/**
 * Writes a manifest as a list of byte runs that follow each other in the file: magic, header length,
 * JSON header, then each column as it lies in memory, aligned to eight bytes (little-endian).
 */
export function encodeManifest(manifest: Manifest): Uint8Array[] {
  const { columns, meta } = manifest;
  const header: Header = {
    version: MANIFEST_VERSION,
    names: columns.names.length,
    textBytes: columns.textBytes.length,
    texts: columns.textStarts.length,
    ...meta,
    packs: [...meta.packs],
  };
  const json = Buffer.from(JSON.stringify(header), 'utf8');
  const prefix = Buffer.alloc(PREFIX_BYTES);
  prefix.write(MAGIC, 'latin1');
  prefix.writeUInt32LE(json.length, MAGIC.length);
  const runs: Uint8Array[] = [prefix, json, padding(json.length)];
  for (const column of inFileOrder(columns)) {
    runs.push(new Uint8Array(column.buffer, column.byteOffset, column.byteLength));
    runs.push(padding(column.byteLength));
  }
  return runs;
}

/** Reads a manifest in place; the buffer must not change after. Throws a RangeError if it is none. */
export function decodeManifest(file: ArrayBufferLike): Manifest {
  if (file.byteLength < PREFIX_BYTES) throw new RangeError('it is too short');
  const bytes = Buffer.from(file);
  if (bytes.toString('latin1', 0, MAGIC.length) !== MAGIC) throw new RangeError('it has no magic');
  const headerBytes = bytes.readUInt32LE(MAGIC.length);
  const json = bytes.toString('utf8', PREFIX_BYTES, PREFIX_BYTES + headerBytes);
  const parsed = v.safeParse(HeaderSchema, parseJson(json));
  if (!parsed.success) throw new RangeError('its header cannot be read');
  const header = parsed.output;
  const n = header.entries;
  let offset = PREFIX_BYTES + headerBytes + padding(headerBytes).length;
  const take = (length: number): { buffer: ArrayBufferLike; at: number; length: number } => {
    const run = { buffer: file, at: offset, length };
    offset += length + padding(length).length;
    if (offset > file.byteLength) throw new RangeError('it is cut off');
    return run;
  };
  const u8 = (length: number): Uint8Array => {
    const run = take(length);
    return new Uint8Array(run.buffer, run.at, length);
  };
  const u32 = (length: number): Uint32Array => {
    const run = take(length * 4);
    return new Uint32Array(run.buffer, run.at, length);
  };
  const keys = take(n * KEY_FIELDS * 8);
  const columns: Columns = {
    keys: new BigInt64Array(keys.buffer, keys.at, n * KEY_FIELDS),
    hashes: u8(n * HASH_BYTES),
    texts: u32(n),
    nameStarts: u32(n),
    parents: u32(n),
    childStarts: u32(n),
    childCounts: u32(n),
    textStarts: u32(header.texts),
    nameLengths: u16Of(take(n * 2), n),
    types: u8(n),
    flags: u8(n),
    names: u8(header.names),
    textBytes: u8(header.textBytes),
  };
  const { takenAt, entries, files, bytes: total, packs, round, attributes, clock } = header;
  const own = { packs, round, attributes, clock };
  const meta: ManifestMeta = { takenAt, entries, files, bytes: total, ...own };
  return new Manifest(meta, columns);
}

const Count = v.pipe(v.number(), v.integer(), v.minValue(0));

const HeaderSchema = v.object({
  version: v.literal(MANIFEST_VERSION),
  entries: v.pipe(Count, v.minValue(1)),
  names: Count,
  textBytes: Count,
  texts: v.pipe(Count, v.minValue(2)),
  files: Count,
  bytes: Count,
  takenAt: v.number(),
  packs: v.array(Count),
  round: Count,
  // Those written before there were any have none.
  attributes: v.optional(v.boolean(), false),
  clock: v.optional(v.string(), ''),
});

type Header = v.InferOutput<typeof HeaderSchema>;

function inFileOrder(columns: Columns): (Uint8Array | Uint16Array | Uint32Array | BigInt64Array)[] {
  return [
    columns.keys,
    columns.hashes,
    columns.texts,
    columns.nameStarts,
    columns.parents,
    columns.childStarts,
    columns.childCounts,
    columns.textStarts,
    columns.nameLengths,
    columns.types,
    columns.flags,
    columns.names,
    columns.textBytes,
  ];
}

function u16Of(run: { buffer: ArrayBufferLike; at: number }, length: number): Uint16Array {
  return new Uint16Array(run.buffer, run.at, length);
}

function padding(length: number): Uint8Array {
  return new Uint8Array((ALIGN - (length % ALIGN)) % ALIGN);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
