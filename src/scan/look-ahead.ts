import os from 'node:os';
import type { Worker } from 'node:worker_threads';
import type { Manifest } from '../core/manifest.js';
import type { Columns } from '../core/manifest-columns.js';
import type { ByteString } from '../core/relpath.js';
import { workerThreads } from '../files/on-demand.js';

/** Below this many entries the walk is over before a second thread has begun (measured: 15 ms). */
const WORTH_A_WORKER = 3000;

/** What the second thread gets: columns of the baseline as shared memory, and where to put its marks. */
export type LookAheadTask = Pick<
  Columns,
  | 'types'
  | 'keys'
  | 'nameStarts'
  | 'nameLengths'
  | 'parents'
  | 'childStarts'
  | 'childCounts'
  | 'names'
> & {
  readonly root: ByteString;
  readonly entries: number;
  /** 1 for an entry whose stat key equals the baseline's. */
  readonly marks: Uint8Array;
  /** [0]: where the walk is, as an index into the entries; the second thread ends when they meet. */
  readonly frontier: Int32Array;
};

/**
 * A second thread that looks at the baseline's entries from the last to the first while the walk goes
 * from the first to the last, and marks those whose stat key has not moved: the walk need not look at
 * them again. They meet in the middle; whatever is not marked the walk looks at itself, so nothing
 * depends on the thread: it may be slow, late or missing.
 */
export class LookAhead {
  readonly #marks: Uint8Array;
  readonly #frontier: Int32Array;

  constructor(marks: Uint8Array, frontier: Int32Array) {
    this.#marks = marks;
    this.#frontier = frontier;
  }

  /** Reports whether an entry of the baseline was seen, during this scan, with the same stat key. */
  isSame(index: number): boolean {
    return this.#marks[index] === 1;
  }

  /** Says where in the baseline the walk is. */
  advance(index: number): void {
    if (index > (this.#frontier[0] ?? 0)) this.#frontier[0] = index;
  }

  end(): void {
    this.#frontier[0] = LAST;
  }
}

const LAST = 0x7fffffff;

/** Starts looking ahead; without a baseline, on one processor or in a small tree it does nothing. */
export function lookAhead(root: ByteString, baseline: Manifest | 'none'): LookAhead {
  if (baseline === 'none' || baseline.count < WORTH_A_WORKER || os.availableParallelism() < 2) {
    return new LookAhead(new Uint8Array(0), new Int32Array(1));
  }
  const { columns, count } = baseline;
  const task: LookAheadTask = {
    root,
    entries: count,
    types: shared(columns.types, Uint8Array),
    keys: shared(columns.keys, BigInt64Array),
    nameStarts: shared(columns.nameStarts, Uint32Array),
    nameLengths: shared(columns.nameLengths, Uint16Array),
    parents: shared(columns.parents, Uint32Array),
    childStarts: shared(columns.childStarts, Uint32Array),
    childCounts: shared(columns.childCounts, Uint32Array),
    names: shared(columns.names, Uint8Array),
    marks: new Uint8Array(new SharedArrayBuffer(count)),
    frontier: new Int32Array(new SharedArrayBuffer(4)),
  };
  startWorker()?.postMessage(task);
  return new LookAhead(task.marks, task.frontier);
}

let worker: Worker | undefined;
let broken = false;

function startWorker(): Worker | undefined {
  if (worker !== undefined || broken) return worker;
  try {
    const { Worker } = workerThreads();
    worker = new Worker(new URL('./look-ahead-worker.js', import.meta.url));
  } catch {
    broken = true;
    return undefined;
  }
  // A thread that cannot start (no memory, a bundler that lost its file) is one that is late.
  worker.on('error', () => {
    worker = undefined;
    broken = true;
  });
  worker.unref();
  return worker;
}

type Column = Uint8Array | Uint16Array | Uint32Array | BigInt64Array;

/** Gives a column that threads can share: itself where it came from a file, else a copy. */
function shared<T extends Column>(column: T, Kind: new (buffer: SharedArrayBuffer) => T): T {
  if (column.buffer instanceof SharedArrayBuffer) return column;
  const copy = new SharedArrayBuffer(column.byteLength);
  const bytes = new Uint8Array(copy);
  bytes.set(new Uint8Array(column.buffer, column.byteOffset, column.byteLength));
  return new Kind(copy);
}
