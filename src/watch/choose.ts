import { startChokidar } from './chokidar.js';
import { loadParcel, startParcel } from './parcel.js';
import {
  type Backend,
  type StartFailure,
  type Watcher,
  type WatchListener,
  type WatchOptions,
  WatchStartError,
} from './watcher.js';

/** What the start came to; the list of changes is the same either way, only the timeline is not. */
export type StartedWatcher =
  | { readonly kind: 'watching'; readonly watcher: Watcher }
  | { readonly kind: 'scan-only'; readonly reason: string };

/** What the choice of a watcher depends on. */
export type StartLimits = {
  /** How many entries the workspace has, by its last manifest; 0 if that is not known. */
  readonly entries: number;
  /** False on NFS, SMB, FUSE, 9p and the like, where others write unseen. */
  readonly stampsTrusted: boolean;
  /** The backend to try first; `'parcel'` if it is left out. */
  readonly prefer?: Backend;
};

/** Chokidar takes a watch and about 8 kB of memory for each entry: from here on the scan is alone. */
const CHOKIDAR_MAX_ENTRIES = 20_000;

/**
 * Starts the watcher that suits the workspace, or none, with the reason in words.
 *
 * Never rejects over a watcher: without one the scan finds the same changes. There is no deadline for
 * the whole: who must not wait goes on, and calls the timeline incomplete from the start.
 */
export async function startWatcher(
  options: WatchOptions,
  listener: WatchListener,
  limits: StartLimits,
): Promise<StartedWatcher> {
  let next = firstChoice(limits);
  for (;;) {
    if (next.kind === 'scan-only') return next;
    const { backend } = next;
    try {
      return { kind: 'watching', watcher: await STARTERS[backend](options, listener) };
    } catch (error) {
      if (!(error instanceof WatchStartError)) throw error;
      next = nextChoice({ failed: backend, why: error.why, message: error.message }, limits);
    }
  }
}

/** Loads what a start most likely needs, for whoever has time before it. */
export async function loadWatcher(): Promise<void> {
  // Where it is missing the start finds that out, and what else there is.
  await loadParcel().catch(() => {});
}

/** What to do next in a start: pure, so that each way through it can be tested. */
export type Choice =
  | { readonly kind: 'try'; readonly backend: Backend }
  | { readonly kind: 'scan-only'; readonly reason: string };

/** Decides what is tried first. */
export function firstChoice({ entries, stampsTrusted, prefer }: StartLimits): Choice {
  if (!stampsTrusted) {
    return scanOnly('no watcher sees all writes on this file system (network or FUSE)');
  }
  return prefer === 'chokidar' ? tryChokidar(entries) : { kind: 'try', backend: 'parcel' };
}

/** Decides what follows a failed start: chokidar only in the place of a Parcel that is missing. */
export function nextChoice(
  failure: { readonly failed: Backend; readonly why: StartFailure; readonly message: string },
  { entries }: StartLimits,
): Choice {
  switch (failure.why) {
    case 'missing':
      return failure.failed === 'parcel' ? tryChokidar(entries) : scanOnly(NO_BACKEND);
    case 'limit':
      return scanOnly(
        'the system has no watch left (Linux: fs.inotify.max_user_watches or max_user_instances)',
      );
    case 'gone':
    case 'late':
    case 'failed':
      return scanOnly(`the watcher could not start: ${failure.message.replace(/\.$/, '')}`);
  }
}

const NO_BACKEND = 'no watcher is installed for this platform';

const STARTERS = { parcel: startParcel, chokidar: startChokidar } as const;

function tryChokidar(entries: number): Choice {
  if (entries < CHOKIDAR_MAX_ENTRIES) return { kind: 'try', backend: 'chokidar' };
  return scanOnly(
    `${NO_BACKEND} that can watch ${entries} entries (chokidar: below ${CHOKIDAR_MAX_ENTRIES})`,
  );
}

function scanOnly(reason: string): Choice & { kind: 'scan-only' } {
  return { kind: 'scan-only', reason };
}
