import { workerData } from 'node:worker_threads';
import { errnoOf } from '../core/problem.js';
import { readStable } from '../files/stable-read.js';
import { stampOf } from '../files/stat.js';
import type { ReadElsewhere, ReadJob } from '../scan/readers.js';
import { PackWriter } from '../store/pack-writer.js';
import { Packs } from '../store/packs.js';
import {
  type FromReader,
  POSTED,
  READY,
  type ReaderSetup,
  type ToReader,
} from './reader-messages.js';

/* The thread of `reader-thread.ts`: reads files and stores them in a pack of its own. */

const setup: ReaderSetup = workerData;
const packs = new Packs(setup.packs, setup.big);
const writer = new PackWriter(setup.packs, (sha256) => packs.holds(sha256));

setup.port.on('message', (message: ToReader) => {
  let answer: FromReader;
  try {
    answer = answerTo(message);
  } catch (error) {
    discard();
    const text = error instanceof Error ? error.message : String(error);
    answer = { kind: 'failed', code: errnoOf(error), message: text };
  }
  setup.port.postMessage(answer);
  Atomics.add(setup.signal, POSTED, 1);
  Atomics.notify(setup.signal, POSTED);
  if (answer.kind === 'failed' || answer.kind === 'ended') setup.port.close();
});
Atomics.store(setup.signal, READY, 1);

function answerTo(message: ToReader): FromReader {
  switch (message.kind) {
    case 'read':
      return { kind: 'read', files: message.jobs.map(read) };
    case 'flush':
      writer.flush();
      return { kind: 'flushed', pack: writer.number };
    case 'end':
      writer.sync();
      writer.close();
      packs.close();
      return { kind: 'ended' };
    case 'discard':
      discard();
      return { kind: 'ended' };
  }
}

function read({ id, path }: ReadJob): ReadElsewhere {
  const result = readStable(path, writer);
  if (result.kind !== 'read') return { id, stamp: '', sha256: '' };
  return { id, stamp: stampOf(result.stat), sha256: result.sha256 };
}

function discard(): void {
  writer.discard();
  packs.close();
}
