import type { ByteString } from '../relpath.js';
import type { ObjectName } from './refs.js';

/** A line of the log of a ref. */
export type ReflogEntry = { readonly id: ObjectName; readonly message: ByteString };

/** Reads the log of a ref, oldest first; lines that are none are passed over. */
export function parseReflog(text: ByteString): ReflogEntry[] {
  return text.split('\n').flatMap((line) => {
    const match = /^[0-9a-f]{40,64} ([0-9a-f]{40,64}) [^\t]*(?:\t(.*))?$/.exec(line);
    return match?.[1] === undefined ? [] : [{ id: match[1], message: match[2] ?? '' }];
  });
}

/** Gives what was added to a log that only grows; nothing where it was written anew. */
export function addedTo(before: ByteString, after: ByteString): ReflogEntry[] {
  return after.startsWith(before) ? parseReflog(after.slice(before.length)) : [];
}
