import { diffArrays } from 'diff/lib/diff/array.js';
import type { ByteString } from '../relpath.js';

/** A line that two texts share: its place in the old one and in the new one, from 0. */
export type LineMatch = readonly [old: number, now: number];

/**
 * Pairs the lines that two texts share, in order, as many as there are: what is not paired was removed
 * or added.
 *
 * The search for the most takes quadratic time in the lines of both that are left over, so it is given
 * up beyond `edits` of those; then only the lines before the first and after the last difference are
 * paired. Lines that only one of the texts has never pair, so they are left out of the search: a text
 * that was written anew is no work.
 */
export function matchLines(
  old: readonly ByteString[],
  now: readonly ByteString[],
  edits: number,
): LineMatch[] {
  const most = Math.min(old.length, now.length);
  let head = 0;
  while (head < most && old[head] === now[head]) head++;
  let tail = 0;
  while (tail < most - head && old[old.length - 1 - tail] === now[now.length - 1 - tail]) tail++;
  const matches: LineMatch[] = [];
  for (let i = 0; i < head; i++) matches.push([i, i]);
  const [left, right] = [middleOf(old, head, tail), middleOf(now, head, tail)];
  for (const match of search(left, right, edits)) matches.push(match);
  for (let i = tail; i > 0; i--) matches.push([old.length - i, now.length - i]);
  return matches;
}

/** The lines between head and tail. */
type Middle = {
  readonly lines: readonly ByteString[];
  readonly from: number;
};

function middleOf(lines: readonly ByteString[], head: number, tail: number): Middle {
  return { lines: lines.slice(head, lines.length - tail), from: head };
}

function* search(old: Middle, now: Middle, edits: number): Iterable<LineMatch> {
  const ids = new Map<ByteString, number>();
  for (const line of old.lines) if (!ids.has(line)) ids.set(line, ids.size);
  const inNow = new Set(now.lines.map((line) => ids.get(line)));
  const [a, b] = [old, now].map(({ lines, from }) => {
    const places: number[] = [];
    const kept: number[] = [];
    for (const [i, line] of lines.entries()) {
      const id = ids.get(line);
      if (id === undefined || !inNow.has(id)) continue;
      places.push(from + i);
      kept.push(id);
    }
    return { places, kept };
  });
  if (a === undefined || b === undefined || a.kept.length === 0) return;
  const parts = diffArrays(a.kept, b.kept, { maxEditLength: edits }) ?? [];
  let [i, j] = [0, 0];
  for (const { added, removed, count } of parts) {
    if (!added && !removed) {
      for (let k = 0; k < count; k++) yield [a.places[i + k] ?? 0, b.places[j + k] ?? 0];
    }
    if (!added) i += count;
    if (!removed) j += count;
  }
}
