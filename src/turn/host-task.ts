import * as v from 'valibot';
import { ProcessIdentitySchema } from '../core/records.js';

const HostTaskSchema = v.object({
  /** Directories that are not watched, absolute: the store, what is left out. */
  ignore: v.array(v.string()),
  rules: v.object({
    include: v.array(v.string()),
    exclude: v.array(v.string()),
    maxFile: v.number(),
  }),
  entries: v.number(),
  stampsTrusted: v.boolean(),
  /** Ends with this process, where there is one that waits for the step. */
  owner: v.nullable(ProcessIdentitySchema),
  prefer: v.nullable(v.picklist(['parcel', 'chokidar'])),
});

const AssignmentSchema = v.tuple([v.string(), v.string()]);

/** Which step a host serves: the store, and the token of its control directory. */
export type Assignment = { readonly store: string; readonly token: string };

/** Reads the line that a host gets on its standard input. */
export function decodeAssignment(line: string): Assignment | 'none' {
  const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), AssignmentSchema), line);
  if (!parsed.success) return 'none';
  const [store, token] = parsed.output;
  return { store, token };
}

/** What the host is told. */
export type HostTask = v.InferOutput<typeof HostTaskSchema>;

/** Reads a task as it is written into the step's control directory. */
export function decodeHostTask(json: string): HostTask | 'invalid' {
  const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), HostTaskSchema), json);
  return parsed.success ? parsed.output : 'invalid';
}
