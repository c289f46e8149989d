import type { EarlierChain } from '../core/pruned-record.js';
import type { LogRecord } from '../core/records.js';
import { chainFrom, LOG_START, type LogContents } from '../store/log.js';

/**
 * Gives the chains that the lines from a cut on were in until now: this log's own, and those that its
 * first line remembers, as far as they have such lines.
 */
export function earlierChains(
  { records, head }: LogContents,
  texts: readonly string[],
  line: number,
): EarlierChain[] {
  const [first] = records;
  const chains = [{ before: LOG_START, head }, ...earlierOf(first)];
  return chains.flatMap((chain, i) => {
    const skipped = i === 0 ? 0 : 1;
    const hashes = [chain.before, ...chainFrom(chain.before, texts.slice(skipped))];
    const end = hashes.indexOf(chain.head);
    const before = hashes[Math.max(0, line - skipped)];
    // Where a repair has written lines anew, nothing can be said of what they were before.
    if (end < 0 || before === undefined || line - skipped >= end) return [];
    return [{ before, head: chain.head }];
  });
}

/** Lists the chains that a log's first line remembers, newest first. */
export function earlierOf(first: LogRecord | undefined): readonly EarlierChain[] {
  return first?.type === 'pruned' ? first.earlier : [];
}
