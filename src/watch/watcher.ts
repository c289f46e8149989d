/** What an event says happened; a replace by rename may come as any of the three. */
export type WatchEventKind = 'create' | 'update' | 'delete';

/**
 * One thing that a backend saw.
 *
 * `path` is relative to the root with `/`, `''` the root itself, as the backend gave it: a name that
 * is not UTF-8 arrives lossy, for events decide nothing. `at` is in milliseconds since the epoch, when
 * it was received, which is up to half a second after it happened.
 */
export type WatchEvent = {
  readonly kind: WatchEventKind;
  readonly path: string;
  readonly at: number;
};

/** The library that watches. */
export type Backend = 'parcel' | 'chokidar';

/** Who is told what the watcher sees; both may be called before the start has resolved. */
export type WatchListener = {
  /** Takes one batch, in the order in which it came; never empty. */
  onEvents(events: readonly WatchEvent[]): void;
  /** Takes a trouble that makes the timeline incomplete; watching may go on or not. */
  onTrouble(reason: string): void;
};

/** What is watched, and what is not told of it. */
export type WatchOptions = {
  /** Real path of the workspace. */
  readonly root: string;
  /** Real path of an existing directory for cookies, watched by the same backend, never reported. */
  readonly cookieDir: string;
  /** Literal absolute paths of directories that are never watched: a store inside, excluded ones. */
  readonly ignoreDirs: readonly string[];
  /** Must be true for whatever lies below an excluded directory, too: it is asked for each event. */
  readonly isExcluded: (relPath: string) => boolean;
  /** A file of that name appeared in `cookieDir`; may come more than once for one name. */
  readonly onCookie: (name: string) => void;
};

/** A running watcher. */
export interface Watcher {
  readonly backend: Backend;
  /**
   * Ends the watching; nothing is told from the moment of the call. It never throws, resolves after
   * `STOP_DEADLINE_MS` at the latest, and may be called again. A backend that hangs in it keeps the
   * process alive: whoever started the process ends it.
   */
  stop(): Promise<void>;
}

/** How long a stop waits for the backend, in milliseconds: unsubscribing is known to hang. */
export const STOP_DEADLINE_MS = 1_000;

/**
 * Why a watcher could not start. `missing`: no binary for this platform; `limit`: the system has no
 * watches or no inotify instance left; `gone`: the directory is not there; `late`: no answer in time.
 */
export type StartFailure = 'missing' | 'limit' | 'gone' | 'late' | 'failed';

/** The one error with which the start of a backend rejects. */
export class WatchStartError extends Error {
  readonly why: StartFailure;

  constructor(why: StartFailure, message: string, options: { cause?: unknown } = {}) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.name = 'WatchStartError';
    this.why = why;
  }
}
