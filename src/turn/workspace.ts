import type { Change } from '../core/change.js';
import {
  changesOf,
  foldHistory,
  type History,
  linesOf,
  nameOfStep,
  newestManifest,
  type Step,
} from '../core/history.js';
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
import { RetiredList } from '../store/retired.js';
import { bringBackNamed } from './bring-back.js';
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
  readonly #retired: RetiredList;
  readonly #manifests = new Map<string, WeakRef<Manifest>>();
  /** How long the list of what was retired was when this process began to rely on the store. */
  #reliesSince: number;

  constructor(located: Located, layout: StoreLayout) {
    this.located = located;
    this.layout = layout;
    this.packs = new Packs(layout.packs, layout.big);
    this.#retired = new RetiredList(layout.packs);
    this.#reliesSince = this.#retired.position();
  }

  get root(): ByteString {
    return this.layout.root;
  }

  close(): void {
    this.packs.close();
  }

  /**
   * Looks at the store anew: to be called before contents are looked for that a record will name. From
   * then on {@link append} makes good what a prune retires in between.
   */
  renew(): void {
    this.packs.close();
    this.#reliesSince = this.#retired.position();
  }

  readLog(): LogState {
    return stateOf(this.layout.log, readLog(this.layout.log));
  }

  /**
   * Appends one record under the log's lock; `decide` sees the log as it stands then, and may give
   * `nothing`. It must be quick: everyone else waits. Throws `busy` where the store was pruned so far
   * meanwhile that something which the record names is gone; an opening gets `nothing` then.
   */
  append(decide: (state: LogState) => LogRecord | 'nothing'): LogRecord | 'nothing' {
    return withLock(this.layout.locks, 'log', () => {
      const state = this.readLog();
      const record = decide(state);
      if (record === 'nothing') return record;
      const retired = this.#retired.since(this.#reliesSince);
      if (bringBackNamed(this, retired, record) === 'gone') {
        if (record.type === 'open') return 'nothing';
        throw new PreimageError('busy', 'The store was pruned while this was recorded.', {
          hint: 'Try again.',
        });
      }
      appendRecord(this.layout.log, state.contents, record);
      return record;
    });
  }

  changes(step: Step): readonly Change[] {
    return loadChanges(this.layout.details, changesOf(step));
  }

  /** Loads a manifest; one that somebody still holds is not read again, for none ever changes. */
  manifest(id: string): Manifest | 'missing' {
    const held = this.#manifests.get(id)?.deref();
    if (held !== undefined) return held;
    const manifest = readManifest(this.layout.manifests, id);
    if (manifest !== 'missing') this.holds({ id, manifest });
    return manifest;
  }

  /** Remembers a manifest that was loaded or written as long as somebody else holds it. */
  holds({ id, manifest }: NamedManifest): void {
    for (const [known, ref] of this.#manifests) {
      if (ref.deref() === undefined) this.#manifests.delete(known);
    }
    this.#manifests.set(id, new WeakRef(manifest));
  }

  /** Loads the workspace as it was last scanned; `none` where there is none that can be used. */
  baseline({ history }: LogState): NamedManifest | 'none' {
    const id = newestManifest(history);
    if (id === 'none') return 'none';
    try {
      const manifest = this.manifest(id);
      return manifest === 'missing' ? 'none' : { id, manifest };
    } catch (error) {
      // A power cut may take a manifest that no step began from: then everything is read anew.
      if (error instanceof PreimageError && error.code === 'damaged') return 'none';
      throw error;
    }
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

/** Gives a step as an interval with its changes; a rewind only carries on what work has left. */
export function intervalOf(workspace: Workspace, step: Step): Interval {
  const by = nameOfStep(step);
  const carries = step.kind === 'rewind';
  return { by, ...linesOf(step), changes: workspace.changes(step), carries };
}

/** Gives the id that the next step takes. */
export function nextStepId({ history }: LogState): number {
  const { lastStep } = history.pruned;
  return history.steps.reduce((highest, step) => Math.max(highest, step.id), lastStep) + 1;
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
