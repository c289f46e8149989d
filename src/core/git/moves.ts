import type { ByteString } from '../relpath.js';
import { countStagedDifferently, parseIndex, sameIndex } from './index-file.js';
import { addedTo, parseReflog, type ReflogEntry } from './reflog.js';
import type { Head, ObjectName } from './refs.js';
import type { GitSide } from './side.js';

/** Something that was made, changed or removed. */
export type Made = 'created' | 'changed' | 'deleted';

/** One thing that a turn moved in a repository. */
export type GitMove =
  /** `reset`: HEAD was set to where it was, which drops what was staged or changed. */
  | {
      readonly kind: 'head';
      readonly change:
        | 'moved'
        | 'switched'
        | 'detached'
        | 'attached'
        | 'reset'
        | 'created'
        | 'deleted';
      readonly from: Head;
      readonly to: Head;
    }
  | {
      readonly kind: 'branch' | 'tag' | 'remote' | 'ref';
      readonly name: ByteString;
      readonly change: 'created' | 'moved' | 'deleted';
      readonly from: ObjectName;
      readonly to: ObjectName;
    }
  /** Only a stash that went while no file changed is known to be dropped and not popped. */
  | {
      readonly kind: 'stash';
      readonly change: 'pushed' | 'dropped' | 'popped-or-dropped';
      readonly commit: ObjectName;
      readonly message: ByteString;
    }
  /** `paths` are staged differently; `unknown` where an index cannot be read. */
  | {
      readonly kind: 'index';
      readonly change: Made;
      readonly paths: number | 'unknown';
    }
  | {
      readonly kind: 'operation';
      readonly operation: Operation;
      readonly change: 'begun' | 'ended';
    }
  | { readonly kind: 'config'; readonly change: Made }
  | { readonly kind: 'hook'; readonly name: ByteString; readonly change: Made }
  /** Refs in tables (`reftable`) changed; they are not read. */
  | { readonly kind: 'unread-refs' };

/** What git may be in the middle of. */
type Operation = 'merge' | 'rebase' | 'am' | 'cherry-pick' | 'revert' | 'bisect';

/** Both sides of one git directory. */
export type Sides = { readonly before: GitSide; readonly after: GitSide };

/** Gives the messages that were added to the log of HEAD, oldest first. */
export function headLog({ before, after }: Sides): ReflogEntry[] {
  const now = after.text('logs/HEAD');
  if (now === 'absent' || now === 'unknown') return [];
  const then = before.text('logs/HEAD');
  return then === 'unknown' ? [] : addedTo(then === 'absent' ? '' : then, now);
}

/** Says how HEAD moved; a reset to where it was is known by its log, unless a stash did it. */
export function headMoves(
  { before, after }: Sides,
  log: readonly ReflogEntry[],
  stashes: number,
): GitMove[] {
  const [from, to] = [before.head(), after.head()];
  if (from.kind === 'unknown' || to.kind === 'unknown') return [];
  const change = headChange(from, to);
  if (change !== 'none') return [{ kind: 'head', change, from, to }];
  const resets = log.filter(({ message }) => message.startsWith('reset: ')).length;
  return resets > stashes ? [{ kind: 'head', change: 'reset', from, to }] : [];
}

type HeadMove = Extract<GitMove, { kind: 'head' }>;

function headChange(
  from: Exclude<Head, { kind: 'unknown' }>,
  to: Exclude<Head, { kind: 'unknown' }>,
): HeadMove['change'] | 'none' {
  if (from.kind === 'none') return to.kind === 'none' ? 'none' : 'created';
  if (to.kind === 'none') return 'deleted';
  if (from.kind === 'branch' && to.kind === 'branch') {
    if (from.branch !== to.branch) return 'switched';
    return from.commit === to.commit ? 'none' : 'moved';
  }
  if (from.kind === 'branch') return 'detached';
  if (to.kind === 'branch') return 'attached';
  return from.commit === to.commit ? 'none' : 'moved';
}

/** Says which stashes came and went, by their log: the newest is its last line. */
export function stashMoves({ before, after }: Sides, workChanged: boolean): GitMove[] {
  const then = stashesOf(before);
  const now = stashesOf(after);
  if (then === 'unknown' || now === 'unknown') return [];
  const gone = then.filter(({ id }) => !now.some((entry) => entry.id === id));
  const come = now.filter(({ id }) => !then.some((entry) => entry.id === id));
  const went = workChanged ? 'popped-or-dropped' : 'dropped';
  return [
    ...come.map((entry) => stashMove('pushed', entry)),
    ...gone.map((entry) => stashMove(went, entry)),
  ];
}

function stashMove(
  change: Extract<GitMove, { kind: 'stash' }>['change'],
  { id, message }: ReflogEntry,
): GitMove {
  return { kind: 'stash', change, commit: id, message };
}

function stashesOf(side: GitSide): ReflogEntry[] | 'unknown' {
  const text = side.text('logs/refs/stash');
  if (text === 'unknown') return 'unknown';
  return text === 'absent' ? [] : parseReflog(text);
}

/** Says whether the index stages something else; new stat data in it are no change. */
export function indexMoves({ before, after }: Sides): GitMove[] {
  const [then, now] = [before.bytes('index'), after.bytes('index')];
  if (then === 'absent') {
    return now === 'absent' ? [] : [{ kind: 'index', change: 'created', paths: entriesIn(now) }];
  }
  if (now === 'absent') return [{ kind: 'index', change: 'deleted', paths: entriesIn(then) }];
  const left = then === 'unknown' ? 'unreadable' : parseIndex(then);
  const right = now === 'unknown' ? 'unreadable' : parseIndex(now);
  if (left === 'unreadable' || right === 'unreadable') {
    return [{ kind: 'index', change: 'changed', paths: 'unknown' }];
  }
  if (sameIndex(left, right)) return [];
  return [{ kind: 'index', change: 'changed', paths: countStagedDifferently(left, right) }];
}

function entriesIn(bytes: Uint8Array | 'unknown'): number | 'unknown' {
  const index = bytes === 'unknown' ? 'unreadable' : parseIndex(bytes);
  return index === 'unreadable' ? 'unknown' : new Set(index.entries.map(({ path }) => path)).size;
}

/** Says what git was left in the middle of, or came out of. */
export function operationMoves({ before, after }: Sides): GitMove[] {
  const [then, now] = [operationsOf(before), operationsOf(after)];
  const begun = [...now].filter((operation) => !then.has(operation));
  const ended = [...then].filter((operation) => !now.has(operation));
  return [
    ...begun.map((operation) => ({ kind: 'operation', operation, change: 'begun' }) as const),
    ...ended.map((operation) => ({ kind: 'operation', operation, change: 'ended' }) as const),
  ];
}

function operationsOf(side: GitSide): Set<Operation> {
  const found = new Set<Operation>();
  if (side.exists('rebase-merge')) found.add('rebase');
  // The same directory serves `git am`, which leaves this mark in it.
  if (side.exists('rebase-apply'))
    found.add(side.exists('rebase-apply/applying') ? 'am' : 'rebase');
  if (side.exists('MERGE_HEAD')) found.add('merge');
  // A rebase picks as well: that is no operation of its own.
  if (side.exists('CHERRY_PICK_HEAD') && !found.has('rebase')) found.add('cherry-pick');
  if (side.exists('REVERT_HEAD') && !found.has('rebase')) found.add('revert');
  if (side.exists('BISECT_LOG')) found.add('bisect');
  return found;
}
