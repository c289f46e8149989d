import * as v from 'valibot';

const Count = v.pipe(v.number(), v.integer(), v.minValue(0));
const Hash = v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/));

/**
 * Checks the first line of a log whose older lines were dropped: what they would still be asked for.
 * Ids are never used again, for somebody may remember a dropped one.
 */
export const PrunedSchema = v.object({
  type: v.literal('pruned'),
  at: v.pipe(v.string(), v.isoTimestamp()),
  /** Hash of the last line of the log before: this line goes on from it. */
  head: Hash,
  /** No step that comes has this id or a lower one. */
  lastStep: Count,
  /** No turn that gets its id from us has this number (`t7`: 7) or a lower one. */
  lastTurn: Count,
  /** How many turns and steps were dropped, all prunes together. */
  turns: Count,
  steps: Count,
  /**
   * The chains that the lines that stay were in before, newest first: a prune writes them anew, so
   * their hashes change. From `before`, the hash of the last line that went, they lead to `head`.
   */
  earlier: v.optional(v.array(v.object({ before: Hash, head: Hash })), []),
});

/** What a log remembers of the lines that were dropped from it. */
export type PrunedRecord = v.InferOutput<typeof PrunedSchema>;

/** A chain that lines of the log were in before they were written anew. */
export type EarlierChain = PrunedRecord['earlier'][number];
