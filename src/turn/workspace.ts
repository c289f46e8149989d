import type { Change } from '../core/change.js';
import { changesOf, foldHistory, type History, nameOfStep, type Step } from '../core/history.js';
import type { Manifest } from '../core/manifest.js';
import { PreimageError } from '../core/problem.js';
import type { LogRecord } from '../core/records.js';
import type { ByteString } from '../core/relpath.js';
import type { Interval } from '../core/squash.js';
import { loadChanges } from '../store/details.js';
import { createStoreAt, type StoreLayout } from '../store/layout.js';
import { withLock } from '../store/lock.js';
import { appendRecord, type LogContents, readLog } from '../store/log.js';
import { readManifest } from '../store/manifests.js';
import { Packs } from '../store/packs.js';
import { type Located, locate, type WhichWorkspace } from './locate.js';

/** The log as it stands, with what it means. */
export type LogState = {
  readonly contents: LogContents;
  readonly history: History;
};

/** A manifest with the hash that names it. */
export type NamedManifest = { readonly id: string; readonly manifest: Manifest };

/** A workspace together with its store. */
export class Workspace {
  readonly located: Located;
  readonly layout: StoreLayout;
  readonly packs: Packs;

  constructor(located: Located, layout: StoreLayout) {
    this.located = located;
    this.layout = layout;
    this.packs = new Packs(layout.packs, layout.big);
  }

  get root(): ByteString {
    return this.layout.root;
  }

  close(): void {
    this.packs.close();
  }

  readLog(): LogState {
    return stateOf(this.layout.log, readLog(this.layout.log));
  }

  /**
   * Appends one record under the log's lock; `decide` sees the log as it stands then, and may give
   * `nothing`. It must be quick: everyone else waits.
   */
  append(decide: (state: LogState) => LogRecord | 'nothing'): LogRecord | 'nothing' {
    return withLock(this.layout.locks, 'log', () => {
      const state = this.readLog();
      const record = decide(state);
      if (record !== 'nothing') appendRecord(this.layout.log, state.contents, record);
      return record;
    });
  }

  changes(step: Step): readonly Change[] {
    return loadChanges(this.layout.details, changesOf(step));
  }

  /** Gives what a step changed, under its name. */
  interval(step: Step): Interval {
    return { by: nameOfStep(step), changes: this.changes(step) };
  }

  /** Loads the workspace as it was last scanned; `none` where there is none that can be used. */
  baseline({ history }: LogState): NamedManifest | 'none' {
    const id = newestManifest(history);
    if (id === 'none') return 'none';
    const manifest = readManifest(this.layout.manifests, id);
    return manifest === 'missing' ? 'none' : { id, manifest };
  }
}

/** Opens a workspace and makes its store if there is none. */
export function openWorkspace(which: WhichWorkspace): Workspace {
  const located = locate(which);
  const layout =
    located.existing === 'none'
      ? createStoreAt(located.storeDirectory, located.root)
      : located.existing;
  return new Workspace(located, layout);
}

/** Opens a workspace that must have a store; throws `no-such-turn` where nothing was ever recorded. */
export function openKnownWorkspace(which: WhichWorkspace): Workspace {
  const located = locate(which);
  if (located.existing !== 'none') return new Workspace(located, located.existing);
  throw new PreimageError('no-such-turn', 'Nothing was recorded here yet.', {
    hint: 'Record a turn with: preimage watch -- COMMAND',
  });
}

/** Gives the id that the next step takes. */
export function nextStepId({ history }: LogState): number {
  return history.steps.reduce((highest, step) => Math.max(highest, step.id), 0) + 1;
}

function stateOf(path: string, contents: LogContents): LogState {
  try {
    return { contents, history: foldHistory(contents.records) };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new PreimageError('damaged', `The log ${path} contradicts itself: ${error.message}.`, {
      hint: 'Nothing was touched.',
    });
  }
}

function newestManifest(history: History): string | 'none' {
  let newest = -1;
  let id = 'none';
  for (const step of history.steps) {
    if (step.kind !== 'work') continue;
    const { end } = step;
    const line = end.kind === 'closed' ? end.closed : step.opened;
    if (line <= newest) continue;
    newest = line;
    id = end.kind === 'closed' ? end.record.manifest : step.open.manifest;
  }
  return id;
}
