import * as v from 'valibot';
import { isAttributes } from './attributes.js';
import type { FileImage, Image } from './image.js';
import { type ByteString, isRelPath, type RelPath, toText } from './relpath.js';

/** Bytes in JSON: as text where they are UTF-8, as base64 elsewhere. */
export type EncodedBytes = string | { readonly b64: string };

/** Writes a byte string for JSON. */
export function encodeBytes(bytes: ByteString): EncodedBytes {
  const { text, lossy } = toText(bytes);
  return lossy ? { b64: Buffer.from(bytes, 'latin1').toString('base64') } : text;
}

const Count = v.pipe(v.number(), v.integer(), v.minValue(0));

/** Checks a SHA-256. */
export const HashSchema = v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/));

const Bytes = v.pipe(
  v.union([v.string(), v.object({ b64: v.pipe(v.string(), v.base64()) })]),
  v.transform(
    (value): ByteString =>
      typeof value === 'string'
        ? Buffer.from(value, 'utf8').toString('latin1')
        : Buffer.from(value.b64, 'base64').toString('latin1'),
  ),
);

/** Checks a path below the root. */
export const PathSchema = v.pipe(
  Bytes,
  v.custom<RelPath>((value) => typeof value === 'string' && isRelPath(value)),
);

const Nanoseconds = v.pipe(
  v.string(),
  v.regex(/^-?\d{1,20}$/),
  v.transform((text) => BigInt(text)),
);

const attributed = { attributes: v.exactOptional(v.pipe(v.string(), v.check(isAttributes))) };

const owned = { kind: v.literal('content'), uid: Count, gid: Count };
const Mode = v.pipe(Count, v.maxValue(0o7777));

const ContentSchema = v.variant('type', [
  v.object({
    ...owned,
    ...attributed,
    type: v.literal('file'),
    sha256: HashSchema,
    bytes: Count,
    mode: Mode,
    mtimeNs: Nanoseconds,
    link: v.optional(v.string(), ''),
    sparse: v.optional(v.boolean(), false),
  }),
  v.object({ ...owned, type: v.literal('symlink'), target: Bytes }),
  v.object({ ...owned, ...attributed, type: v.literal('directory'), mode: Mode }),
  v.object({ ...owned, ...attributed, type: v.literal('fifo'), mode: Mode }),
]);

/** Checks an image. */
export const ImageSchema = v.variant('kind', [
  v.object({ kind: v.literal('absent') }),
  v.object({
    kind: v.literal('skipped'),
    why: v.picklist(['left-out', 'too-large', 'over-budget', 'unreadable']),
    reason: v.string(),
    stamp: v.string(),
    linked: v.exactOptional(v.boolean()),
  }),
  ContentSchema,
]);

/** Writes an image for JSON in the store's own form. */
export function imageToJson(image: Image): unknown {
  if (image.kind !== 'content') return image;
  switch (image.type) {
    case 'file':
      return fileToJson(image);
    case 'symlink':
      return { ...image, target: encodeBytes(image.target) };
    case 'directory':
    case 'fifo':
      return image;
  }
}

/** Reads an image in the store's own form. */
export function decodeImage(value: unknown): Image | { readonly invalid: string } {
  const result = v.safeParse(ImageSchema, value);
  return result.success ? result.output : { invalid: result.issues[0].message };
}

/** Leaves out what is not so for most files. */
function fileToJson({ link, sparse, ...image }: FileImage): unknown {
  return {
    ...image,
    mtimeNs: String(image.mtimeNs),
    ...(link === '' ? {} : { link }),
    ...(sparse ? { sparse } : {}),
  };
}
