import * as v from 'valibot';
import { encodeBytes, HashSchema, ImageSchema, imageToJson, PathSchema } from './image-codec.js';

/** What is said of a repository in which a step changed something. */
export const RepositoryNoteSchema = v.object({
  /** The topmost `.git` above the changed paths. */
  path: PathSchema,
  /** Fingerprints of all in it but objects and indexes, when the step opened and when it closed. */
  opened: HashSchema,
  closed: HashSchema,
  /** What stood unchanged beside what changed, and is needed to tell what that means. */
  beside: v.optional(v.array(v.object({ path: PathSchema, image: ImageSchema })), []),
});

/** See the schema. */
export type RepositoryNote = v.InferOutput<typeof RepositoryNoteSchema>;

/** Most steps touch no repository: they have no word for it in the log. */
export function repositoriesToJson(notes: readonly RepositoryNote[]): { repositories?: unknown } {
  if (notes.length === 0) return { repositories: undefined };
  const repositories = notes.map(({ path, opened, closed, beside }) => ({
    path: encodeBytes(path),
    opened,
    closed,
    beside: beside.map((one) => ({ path: encodeBytes(one.path), image: imageToJson(one.image) })),
  }));
  return { repositories };
}
