import type { ReadElsewhere, ReadJob } from '../scan/readers.js';

/** What the thread of `read-worker.ts` is started with. */
export type ReaderSetup = {
  readonly packs: string;
  readonly big: string;
  readonly port: import('node:worker_threads').MessagePort;
  /** [READY]: 1 once it listens; [POSTED]: counts its messages. */
  readonly signal: Int32Array;
};

export const READY = 0;
export const POSTED = 1;

/** What the thread is asked. `flush` has it name its pack; `end` makes what it stored durable. */
export type ToReader =
  | { readonly kind: 'read'; readonly jobs: readonly ReadJob[] }
  | { readonly kind: 'flush' | 'end' | 'discard' };

/** What it answers. After `failed` and `ended` it is gone. */
export type FromReader =
  | { readonly kind: 'read'; readonly files: readonly ReadElsewhere[] }
  | { readonly kind: 'flushed'; readonly pack: number | 'none' }
  | { readonly kind: 'ended' }
  | { readonly kind: 'failed'; readonly code: string; readonly message: string };
