import * as v from 'valibot';
import type { Change } from './change.js';
import { encodeBytes, HashSchema, ImageSchema, imageToJson, PathSchema } from './image-codec.js';
import { PrunedSchema } from './pruned-record.js';
import { RepositoryNoteSchema, repositoriesToJson } from './repository-note.js';
import { TURN_ID } from './turn-id.js';

/** The version of the store's format that this code writes and reads. */
export const STORE_VERSION = 1;

const Integer = v.pipe(v.number(), v.integer());
const Count = v.pipe(Integer, v.minValue(0));
const Moment = v.pipe(v.string(), v.isoTimestamp());

const ChangeSchema = v.object({ path: PathSchema, before: ImageSchema, after: ImageSchema });

const ChangesSchema = v.array(ChangeSchema);

/** Where a step's changes are: in the line itself when they are few, else in a file of their own. */
export type ChangesRef =
  | { readonly kind: 'inline'; readonly changes: readonly Change[] }
  | { readonly kind: 'detail'; readonly sha256: string; readonly count: number };

const ChangesRefSchema = v.variant('kind', [
  v.object({ kind: v.literal('inline'), changes: ChangesSchema }),
  v.object({ kind: v.literal('detail'), sha256: HashSchema, count: Count }),
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
  manifest: HashSchema,
  rules: RulesSchema,
  control: v.pipe(v.string(), v.regex(/^[a-z0-9-]{1,64}$/)),
  watcher: v.string(),
  /** How watchman helped to open it, where it was asked to. */
  watchman: v.optional(
    v.object({
      /** Where it stood before the scan began, for the manifests of this step; '' where not known. */
      clock: v.string(),
      /** How many paths it named; null where every file was looked at. */
      named: v.nullable(Count),
      /** Why every file was looked at; '' where that was not so. */
      reason: v.string(),
    }),
  ),
});

const CloseSchema = v.object({
  type: v.literal('close'),
  step: StepId,
  at: Moment,
  recovered: v.boolean(),
  exitCode: v.nullable(Integer),
  changes: ChangesRefSchema,
  manifest: HashSchema,
  timeline: v.object({
    complete: v.boolean(),
    reason: v.string(),
    watcher: v.string(),
    events: v.nullable(HashSchema),
  }),
  unsettled: v.array(PathSchema),
  /** Directories that a rule left out, so that nothing in them was looked at; not all if many. */
  leftOut: v.optional(v.array(v.object({ path: PathSchema, reason: v.string() })), []),
  warnings: v.array(v.string()),
  repositories: v.optional(v.array(RepositoryNoteSchema), []),
  /** What was changed against the rules of the run. */
  broken: v.optional(v.array(v.object({ path: PathSchema, rule: v.string() })), []),
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
  /** Which modification time files get that are put back. */
  times: v.optional(v.picklist(['now', 'recorded']), 'now'),
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
  repositories: v.optional(v.array(RepositoryNoteSchema), []),
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
        ...repositoriesToJson(record.repositories),
      };
    case 'rewind':
      return { ...record, plan: refToJson(record.plan) };
    case 'rewound':
      return {
        ...record,
        changes: refToJson(record.changes),
        ...repositoriesToJson(record.repositories),
      };
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
