import { writeSync } from 'node:fs';
import { formatSize } from '../index.js';

/** Nothing is shown before this: most runs are over by then. */
const PATIENCE_MS = 1000;
const EVERY_MS = 100;

/** A progress line on stderr, where that is a terminal and the run takes over a second. */
export class Progress {
  readonly #started = Date.now();
  readonly #enabled: boolean;
  #last = 0;
  #shown = false;

  constructor(quiet: boolean) {
    this.#enabled = !quiet && process.stderr.isTTY === true;
  }

  /** Shows how far a scan is. */
  scan(entries: number, bytes: number): void {
    this.#show(() => `${entries.toLocaleString('en')} entries, ${formatSize(bytes)} looked at`);
  }

  /** Shows how far a rewind is. */
  rewind(done: number, total: number): void {
    this.#show(() => `${Math.floor((100 * done) / Math.max(1, total))}% rewound`);
  }

  /** Shows how far a check is. */
  check(bytes: number): void {
    this.#show(() => `${formatSize(bytes)} checked`);
  }

  /** Clears the line. */
  end(): void {
    if (this.#shown) writeSync(process.stderr.fd, '\r\u001b[K');
    this.#shown = false;
  }

  #show(line: () => string): void {
    if (!this.#enabled) return;
    const now = Date.now();
    if (now - this.#started < PATIENCE_MS || now - this.#last < EVERY_MS) return;
    this.#last = now;
    this.#shown = true;
    // Written at once: a scan does not give way to the event loop.
    writeSync(process.stderr.fd, `\rpreimage: ${line()}\u001b[K`);
  }
}
