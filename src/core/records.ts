import * as v from 'valibot';
import type { Change } from './change.js';
import type { FileImage, Image } from './image.js';
import { PrunedSchema } from './pruned-record.js';
import { type ByteString, isRelPath, type RelPath, toText } from './relpath.js';
import { TURN_ID } from './turn-id.js';

/** The version of the store's format that this code writes and reads. */
export const STORE_VERSION = 1;

/** Bytes in JSON: as text where they are UTF-8, as base64 elsewhere. */
export type EncodedBytes = string | { readonly b64: string };

/** Writes a byte string for JSON. */
export function encodeBytes(bytes: ByteString): EncodedBytes {
  const { text, lossy } = toText(bytes);
  return lossy ? { b64: Buffer.from(bytes, 'latin1').toString('base64') } : text;
}

const Integer = v.pipe(v.number(), v.integer());
const Count = v.pipe(Integer, v.minValue(0));
const Hash = v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/));
const Moment = v.pipe(v.string(), v.isoTimestamp());

const Bytes = v.pipe(
  v.union([v.string(), v.object({ b64: v.pipe(v.string(), v.base64()) })]),
  v.transform(
    (value): ByteString =>
      typeof value === 'string'
        ? Buffer.from(value, 'utf8').toString('latin1')
        : Buffer.from(value.b64, 'base64').toString('latin1'),
  ),
);

const Path = v.pipe(
  Bytes,
  v.custom<RelPath>((value) => typeof value === 'string' && isRelPath(value)),
);

const Nanoseconds = v.pipe(
  v.string(),
  v.regex(/^-?\d{1,20}$/),
  v.transform((text) => BigInt(text)),
);

const owned = { kind: v.literal('content'), uid: Count, gid: Count };
const Mode = v.pipe(Count, v.maxValue(0o7777));

const ContentSchema = v.variant('type', [
  v.object({
    ...owned,
    type: v.literal('file'),
    sha256: Hash,
    bytes: Count,
    mode: Mode,
    mtimeNs: Nanoseconds,
    link: v.optional(v.string(), ''),
    sparse: v.optional(v.boolean(), false),
  }),
  v.object({ ...owned, type: v.literal('symlink'), target: Bytes }),
  v.object({ ...owned, type: v.literal('directory'), mode: Mode }),
  v.object({ ...owned, type: v.literal('fifo'), mode: Mode }),
]);

const ImageSchema = v.variant('kind', [
  v.object({ kind: v.literal('absent') }),
  v.object({
    kind: v.literal('skipped'),
    why: v.picklist(['left-out', 'too-large', 'unreadable']),
    reason: v.string(),
    stamp: v.string(),
  }),
  ContentSchema,
]);

const ChangeSchema = v.object({ path: Path, before: ImageSchema, after: ImageSchema });

const ChangesSchema = v.array(ChangeSchema);

/** Where a step's changes are: in the line itself when they are few, else in a file of their own. */
export type ChangesRef =
  | { readonly kind: 'inline'; readonly changes: readonly Change[] }
  | { readonly kind: 'detail'; readonly sha256: string; readonly count: number };

const ChangesRefSchema = v.variant('kind', [
  v.object({ kind: v.literal('inline'), changes: ChangesSchema }),
  v.object({ kind: v.literal('detail'), sha256: Hash, count: Count }),
]);

/** Who holds something: a process that can be told from a later one with the same pid. */
export type ProcessIdentity = {
  readonly pid: number;
  /** Start time in the system's own form; `''` where it cannot be told. */
  readonly start: string;
  /** Identity of the machine's run; `''` where it cannot be told. */
  readonly boot: string;
};

/** Checks a process identity read from disk. */
export const ProcessIdentitySchema = v.object({
  pid: Count,
  start: v.string(),
  boot: v.string(),
});

const RulesSchema = v.object({
  include: v.array(v.string()),
  exclude: v.array(v.string()),
  maxFile: Count,
});

const StepId = v.pipe(Integer, v.minValue(1));
const TurnIdSchema = v.pipe(v.string(), v.regex(TURN_ID));

const OpenSchema = v.object({
  type: v.literal('open'),
  step: StepId,
  turn: TurnIdSchema,
  label: v.string(),
  kind: v.picklist(['command', 'hook', 'library', 'session']),
  command: v.array(v.string()),
  cwd: v.string(),
  at: Moment,
  owner: v.nullable(ProcessIdentitySchema),
  manifest: Hash,
  rules: RulesSchema,
  control: v.pipe(v.string(), v.regex(/^[a-z0-9-]{1,64}$/)),
  watcher: v.string(),
});

const CloseSchema = v.object({
  type: v.literal('close'),
  step: StepId,
  at: Moment,
  recovered: v.boolean(),
  exitCode: v.nullable(Integer),
  changes: ChangesRefSchema,
  manifest: Hash,
  timeline: v.object({
    complete: v.boolean(),
    reason: v.string(),
    watcher: v.string(),
    events: v.nullable(Hash),
  }),
  unsettled: v.array(Path),
  /** Directories that a rule left out, so that nothing in them was looked at; not all if many. */
  leftOut: v.optional(v.array(v.object({ path: Path, reason: v.string() })), []),
  warnings: v.array(v.string()),
});

const RewindSchema = v.object({
  type: v.literal('rewind'),
  step: StepId,
  kind: v.picklist(['rewind', 'redo']),
  at: Moment,
  owner: v.nullable(ProcessIdentitySchema),
  /** The turn asked for; for a redo the turn of the rewind that it takes back. */
  turn: TurnIdSchema,
  /** Turns that are undone (for a redo: brought back), newest first. */
  turns: v.array(TurnIdSchema),
  /** Steps that are undone. */
  undoes: v.array(StepId),
  /** Only some paths were asked for, so the turns stay as they are in the list. */
  partial: v.boolean(),
  /** No conflict and no failure when it was planned: if not, the turns stay as they are in the list. */
  whole: v.optional(v.boolean(), true),
  /** From what stood to what shall stand: the journal. */
  plan: ChangesRefSchema,
});

const RewoundSchema = v.object({
  type: v.literal('rewound'),
  step: StepId,
  at: Moment,
  recovered: v.boolean(),
  /** No conflict and no failure: the turns count as rewound. */
  complete: v.boolean(),
  changes: ChangesRefSchema,
});

const RecordSchema = v.variant('type', [
  OpenSchema,
  CloseSchema,
  RewindSchema,
  RewoundSchema,
  PrunedSchema,
]);

/** A line of the log. */
export type LogRecord = v.InferOutput<typeof RecordSchema>;
/** A step begins. */
export type OpenRecord = v.InferOutput<typeof OpenSchema>;
/** A step ended: what changed in it. */
export type CloseRecord = v.InferOutput<typeof CloseSchema>;
/** A rewind or a redo begins: its journal. */
export type RewindRecord = v.InferOutput<typeof RewindSchema>;
/** A rewind or a redo ended: what it changed. */
export type RewoundRecord = v.InferOutput<typeof RewoundSchema>;

/** Writes a record as JSON. */
export function encodeRecord(record: LogRecord): string {
  return JSON.stringify(toJson(record));
}

/** Reads a record; `invalid` with the first problem in words where it is none. */
export function decodeRecord(json: string): LogRecord | { readonly invalid: string } {
  return parse(RecordSchema, json);
}

/** Writes changes for a file of their own: a JSON array with a change a line. */
export function encodeChanges(changes: readonly Change[]): string {
  return `[${changes.map((change) => JSON.stringify(changeToJson(change))).join(',\n')}]\n`;
}

/** Reads what {@link encodeChanges} wrote. */
export function decodeChanges(json: string): Change[] | { readonly invalid: string } {
  return parse(ChangesSchema, json);
}

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

function changeToJson(change: Change): unknown {
  return {
    path: encodeBytes(change.path),
    before: imageToJson(change.before),
    after: imageToJson(change.after),
  };
}

function refToJson(ref: ChangesRef): unknown {
  return ref.kind === 'inline' ? { ...ref, changes: ref.changes.map(changeToJson) } : ref;
}

function toJson(record: LogRecord): unknown {
  switch (record.type) {
    case 'open':
    case 'pruned':
      return record;
    case 'close':
      return {
        ...record,
        changes: refToJson(record.changes),
        unsettled: record.unsettled.map(encodeBytes),
        leftOut: record.leftOut.map(({ path, reason }) => ({ path: encodeBytes(path), reason })),
      };
    case 'rewind':
      return { ...record, plan: refToJson(record.plan) };
    case 'rewound':
      return { ...record, changes: refToJson(record.changes) };
  }
}

function parse<const Schema extends v.GenericSchema>(
  schema: Schema,
  json: string,
): v.InferOutput<Schema> | { readonly invalid: string } {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    return { invalid: 'it is not JSON' };
  }
  const result = v.safeParse(schema, value);
  if (result.success) return result.output;
  const issue = result.issues[0];
  return { invalid: `${v.getDotPath(issue) ?? 'it'}: ${issue.message}` };
}
