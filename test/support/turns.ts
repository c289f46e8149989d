import fs from 'node:fs';
import path from 'node:path';
import { openStore, openTurn, type RewindResult, type Store } from '../../src/index.js';
import { type Entry, type Snapshot, snapshot, temporary, tree } from './tree.js';

/** A workspace with a store beside it, used through the library: as fast as turns can be made. */
export type Bench = {
  readonly root: string;
  readonly store: string;
  /** Runs one turn around a change of the workspace. */
  readonly turn: (id: string, change: () => void) => Promise<void>;
  /** Opens the history, hands it on and closes it. */
  readonly with: <T>(run: (store: Store) => T) => T;
  readonly rewind: (turn: string) => Promise<RewindResult>;
  readonly redo: () => Promise<RewindResult>;
  /** Ids of the turns, newest first. */
  readonly ids: () => string[];
  readonly write: (entries: Record<string, Entry>) => void;
  readonly snapshot: () => Snapshot;
};

/** Makes a workspace and a store for one test. */
export function bench(entries: Record<string, Entry> = {}, base = temporary()): Bench {
  const at = { root: tree(path.join(base, 'ws'), entries), store: path.join(base, 'store') };
  const withStore: Bench['with'] = (run) => {
    const store = openStore(at);
    const done = run(store);
    if (done instanceof Promise) done.finally(() => store.close()).catch(() => {});
    else store.close();
    return done;
  };
  return {
    ...at,
    turn: async (id, change) => {
      const turn = await openTurn({ ...at, turn: id });
      change();
      await turn.close();
    },
    with: withStore,
    rewind: (turn) => withStore((store) => store.rewind({ turn })),
    redo: () => withStore((store) => store.redo()),
    ids: () => withStore((store) => store.list().map(({ turn }) => turn)),
    write: (more) => {
      tree(at.root, more);
    },
    snapshot: () => snapshot(at.root),
  };
}

/** Sums the sizes of all files below a directory. */
export function diskUse(at: string): number {
  return filesBelow(at).reduce((sum, file) => sum + fs.statSync(file).size, 0);
}

/** Lists all files below a directory. */
export function filesBelow(at: string): string[] {
  return fs
    .readdirSync(at, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name));
}
