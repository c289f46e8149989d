import type { ByteString } from '../relpath.js';

/** 40 or 64 hexadecimal digits; `none` where there is no object, `unknown` where it cannot be told. */
export type ObjectName = string;

/** Where HEAD is. */
export type Head =
  | { readonly kind: 'branch'; readonly branch: ByteString; readonly commit: ObjectName }
  | { readonly kind: 'detached'; readonly commit: ObjectName }
  /** There is no HEAD, so no repository. */
  | { readonly kind: 'none' }
  | { readonly kind: 'unknown' };

/** What a ref's file says: an object, or the name of another ref. */
export type RefValue =
  | { readonly kind: 'object'; readonly id: ObjectName }
  | { readonly kind: 'symbolic'; readonly ref: ByteString };

/** Reads the file of a ref, or HEAD; `unreadable` where it is neither an object nor a name. */
export function parseRef(text: ByteString): RefValue | 'unreadable' {
  const symbolic = /^ref:\s*([^\s]+)\s*$/.exec(text);
  if (symbolic?.[1] !== undefined) return { kind: 'symbolic', ref: symbolic[1] };
  const object = /^([0-9a-f]{40}|[0-9a-f]{64})\s*$/.exec(text);
  return object?.[1] === undefined ? 'unreadable' : { kind: 'object', id: object[1] };
}

/** Reads `packed-refs`: full names to objects. Peeled tags and lines that are none are passed over. */
export function parsePackedRefs(text: ByteString): Map<ByteString, ObjectName> {
  const refs = new Map<ByteString, ObjectName>();
  for (const line of text.split('\n')) {
    const match = /^([0-9a-f]{40}|[0-9a-f]{64}) (refs\/.+)$/.exec(line);
    if (match?.[1] !== undefined && match[2] !== undefined) refs.set(match[2], match[1]);
  }
  return refs;
}

/** What kind a ref is, and its name within it. */
export function classifyRef(ref: ByteString): {
  readonly kind: 'branch' | 'tag' | 'remote' | 'ref';
  readonly name: ByteString;
} {
  for (const [prefix, kind] of KINDS) {
    if (ref.startsWith(prefix)) return { kind, name: ref.slice(prefix.length) };
  }
  return { kind: 'ref', name: ref };
}

const KINDS = [
  ['refs/heads/', 'branch'],
  ['refs/tags/', 'tag'],
  ['refs/remotes/', 'remote'],
] as const;
