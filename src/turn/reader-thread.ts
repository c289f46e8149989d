import os from 'node:os';
import type { MessagePort, Worker } from 'node:worker_threads';
import { PreimageError } from '../core/problem.js';
import { workerThreads } from '../files/on-demand.js';
import type { ReadElsewhere, Readers, ReadJob } from '../scan/readers.js';
import type { StoreLayout } from '../store/layout.js';
import {
  type FromReader,
  POSTED,
  READY,
  type ReaderSetup,
  type ToReader,
} from './reader-messages.js';

/** Files that are read before a second thread is started: with fewer it is all over by then. */
const WORTH_A_THREAD = 256;
/** So many are handed over at once, and so many wait there at most; the walk reads what is beyond. */
const BATCH = 32;
const MOST_WAITING = 256;
/** A thread that says nothing for so long, though something waits there, is given up. */
const SILENCE_MS = 60_000;

/**
 * A second thread that reads and stores files while the walk goes on and reads others. It has a pack
 * of its own. The walk hands over what it has met, so what is covered and in which order it is met is
 * decided in one place; a thread that is slow, late or missing only costs time.
 */
export class ReaderThread implements Readers {
  /** Number of the pack that it writes; known after `collect('all')`. */
  pack: number | 'none' = 'none';
  readonly #layout: StoreLayout;
  readonly #signal = new Int32Array(new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT));
  readonly #isUseful = os.availableParallelism() > 1;
  #state: 'not started' | 'running' | 'gone' = 'not started';
  #worker: Worker | undefined;
  /** Made with the thread: most scans need none, and a port that nobody closes stays for good. */
  #port: MessagePort | undefined;
  #offered = 0;
  #waiting = 0;
  #batch: ReadJob[] = [];

  constructor(layout: StoreLayout) {
    this.#layout = layout;
  }

  offer(job: ReadJob): boolean {
    this.#offered += 1;
    if (!this.#isUseful || this.#offered < WORTH_A_THREAD) return false;
    if (this.#state === 'not started') this.#start();
    if (Atomics.load(this.#signal, READY) === 0 || this.#waiting >= MOST_WAITING) return false;
    this.#waiting += 1;
    this.#batch.push(job);
    if (this.#batch.length >= BATCH) this.#send();
    return true;
  }

  collect(which: 'done' | 'all'): readonly ReadElsewhere[] {
    if (this.#waiting === 0) return [];
    this.#send();
    if (which === 'all') this.#post({ kind: 'flush' });
    const files: ReadElsewhere[] = [];
    for (let isFlushed = which === 'done'; ; ) {
      const message = isFlushed ? this.#received() : this.#awaited();
      if (message === 'nothing') return files;
      if (message.kind === 'flushed') {
        this.pack = message.pack;
        isFlushed = true;
      } else if (message.kind === 'read') {
        this.#waiting -= message.files.length;
        files.push(...message.files);
      }
    }
  }

  /** Begins to make durable what was stored, beside what its caller does. */
  end(): void {
    this.#post({ kind: 'end' });
  }

  /** Waits until it is durable. */
  ended(): void {
    if (this.#state !== 'running') return;
    for (let message = this.#awaited(); message.kind !== 'ended'; ) message = this.#awaited();
    this.#leave();
  }

  /** Ends it; what it has stored goes. */
  discard(): void {
    if (this.#state !== 'running') return;
    this.#post({ kind: 'discard' });
    try {
      this.ended();
    } catch {
      // What hinders it is told by what made us give up; its pack goes when a prune finds it.
      this.#leave();
    }
  }

  #start(): void {
    const { port1, port2: port } = new (workerThreads().MessageChannel)();
    port1.unref();
    this.#port = port1;
    const { packs, big } = this.#layout;
    const workerData: ReaderSetup = { packs, big, port, signal: this.#signal };
    this.#state = 'running';
    try {
      const url = new URL('./read-worker.js', import.meta.url);
      const worker = new (workerThreads().Worker)(url, { workerData, transferList: [port] });
      this.#worker = worker;
      // It cannot start (no memory, a bundler that lost its file): then it never listens.
      worker.on('error', () => {});
      worker.unref();
    } catch {
      this.#leave();
    }
  }

  #leave(): void {
    this.#state = 'gone';
    this.#port?.close();
  }

  #send(): void {
    if (this.#batch.length === 0) return;
    this.#post({ kind: 'read', jobs: this.#batch });
    this.#batch = [];
  }

  #post(message: ToReader): void {
    if (Atomics.load(this.#signal, READY) === 1) {
      this.#port?.postMessage(message);
      return;
    }
    // What never listened holds nothing either.
    this.#leave();
    void this.#worker?.terminate();
  }

  #received(): FromReader | 'nothing' {
    const received: { readonly message: FromReader } | undefined =
      this.#port === undefined ? undefined : workerThreads().receiveMessageOnPort(this.#port);
    if (received === undefined) return 'nothing';
    const { message } = received;
    if (message.kind !== 'failed') return message;
    this.#leave();
    throw Object.assign(new Error(message.message), { code: message.code });
  }

  #awaited(): FromReader {
    const until = performance.now() + SILENCE_MS;
    for (;;) {
      const posted = Atomics.load(this.#signal, POSTED);
      const message = this.#received();
      if (message !== 'nothing') return message;
      const left = until - performance.now();
      if (left <= 0) break;
      Atomics.wait(this.#signal, POSTED, posted, left);
    }
    this.#leave();
    throw new PreimageError('cannot-store', 'A thread that reads files does not answer.', {
      hint: 'Try again.',
    });
  }
}
