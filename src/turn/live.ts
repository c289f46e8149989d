import { type Change, isNoChange } from '../core/change.js';
import { isDirectory } from '../core/planned.js';
import { isRelPath, joinPath, type RelPath } from '../core/relpath.js';
import { lookAtAll } from '../files/look-all.js';
import { openTree, type Tree } from '../files/tree.js';
import { HostReader } from './host-client.js';
import type { OpenedStep } from './open-step.js';
import { waitForSignal } from './run-command.js';
import { resolveRunRules } from './settings.js';
import {
  closeWatched,
  openWatched,
  type WatchCommandOptions,
  type Watched,
} from './watch-command.js';
import { openWorkspace, type Workspace } from './workspace.js';

/** A path at which something happened, and how it stands now beside how it stood at the opening. */
export type LiveChange = {
  /** When it was looked at, in milliseconds since the epoch. */
  readonly at: number;
  readonly change: Change;
  /** It is what it was at the opening. */
  readonly asBefore: boolean;
};

/** How a watch without a command is done. */
export type LiveOptions = WatchCommandOptions & {
  /** Closes the turn and opens the next once nothing has happened for so long, in milliseconds. */
  readonly idle?: number;
  readonly onChange: (change: LiveChange) => void;
  /** Nothing watches, so that nothing will be shown; with why. */
  readonly onBlind: (reason: string) => void;
  /** Called for each turn that is closed and followed by another. */
  readonly onClosed: (watched: Watched) => void;
};

/**
 * Watches without a command until Ctrl-C, SIGTERM or SIGHUP: shows each path once it has been quiet for
 * a moment. Gives the last turn.
 */
export async function watchLive(options: LiveOptions): Promise<Watched> {
  const workspace = openWorkspace(options);
  let ended = false;
  const signal = waitForSignal().then(() => {
    ended = true;
  });
  try {
    for (;;) {
      const opened = await openWatched(workspace, options, { kind: 'session', command: [] });
      await new Follower(workspace, opened, options).follow(signal, () => ended);
      const rules = resolveRunRules(workspace.root, options);
      const result = { kind: 'exited', exitCode: 0 } as const;
      const end = { result, exitCode: 'none', rules, options } as const;
      const watched = await closeWatched(workspace, opened, end);
      if (ended || 'kind' in watched.closing) return watched;
      options.onClosed(watched);
    }
  } finally {
    workspace.close();
  }
}

/** How often new events are looked for. */
const EVERY_MS = 50;
/** A path that nothing has happened to for so long has settled. */
const SETTLED_MS = 150;
/** Levels of new directories that are still shown at the end. */
const DEEPEST = 64;

/** Follows one step until it is idle or a signal comes. */
class Follower {
  readonly #opened: OpenedStep;
  readonly #options: LiveOptions;
  readonly #host: HostReader;
  readonly #tree: Tree;
  /** Paths with events that were not shown yet, and when the last of those came. */
  readonly #moving = new Map<RelPath, number>();
  /** Stat keys of paths as they were shown. */
  readonly #shown = new Map<RelPath, string>();
  #last = 0;

  constructor({ root }: Workspace, opened: OpenedStep, options: LiveOptions) {
    this.#opened = opened;
    this.#options = options;
    this.#host = new HostReader(opened.control);
    this.#tree = openTree(root);
  }

  async follow(signal: Promise<void>, ended: () => boolean): Promise<void> {
    let told = false;
    try {
      while (!ended() && !this.#isIdle()) {
        this.#take();
        this.#showSettled(SETTLED_MS);
        const blind = this.#whyBlind();
        if (!told && blind !== '') {
          told = true;
          this.#options.onBlind(blind);
        }
        await Promise.race([signal, pause(EVERY_MS)]);
      }
      this.#take();
      // What new directories hold comes a level at a time.
      for (let level = 0; level < DEEPEST && this.#moving.size > 0; level++) this.#showSettled(0);
    } finally {
      this.#tree.close();
    }
  }

  #whyBlind(): string {
    if (this.#opened.record.watcher === 'none') return 'no watcher was asked for';
    const { fate } = this.#host;
    return fate === 'starting' || fate.kind === 'watched' ? '' : fate.reason;
  }

  /** Something happened, and then nothing for long enough. */
  #isIdle(): boolean {
    const { idle } = this.#options;
    return idle !== undefined && this.#last > 0 && Date.now() - this.#last >= idle;
  }

  #take(): void {
    const count = this.#host.update();
    if (count === 0) return;
    const now = Date.now();
    for (const { path } of this.#host.events.slice(-count)) {
      if (path === '' || !isRelPath(path)) continue;
      this.#last = now;
      this.#moving.set(path, now);
    }
  }

  #showSettled(quiet: number): void {
    const now = Date.now();
    this.#tree.reset();
    const settled = [...this.#moving].flatMap(([path, last]) => (now - last < quiet ? [] : [path]));
    for (const path of settled) this.#moving.delete(path);
    for (const [path, state] of lookAtAll(this.#tree, settled, 'hash-only')) {
      const { image: after, entries, stamp } = state;
      // Told by the watcher as well as found in a new directory.
      if (this.#shown.get(path) === stamp) continue;
      this.#shown.set(path, stamp);
      const before = this.#opened.scanned.manifest.imageAt(path);
      const change = { path, before, after };
      // Backends need not tell what a new directory holds.
      if (isDirectory(after) && !isDirectory(before) && entries !== 'unknown') {
        for (const name of entries) this.#moving.set(joinPath(path, name), now);
      }
      this.#options.onChange({ at: now, change, asBefore: isNoChange(change) });
    }
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
