import { writeSync } from 'node:fs';
import { formatSize } from '../index.js';
import { Pace, timeLeft } from './pace.js';
import { ScanLine, type ScanProgress } from './scan-line.js';

/** Nothing is shown before this: most runs are over by then. */
const PATIENCE_MS = 1000;
const EVERY_MS = 100;

/** A progress line on stderr, where that is a terminal and the run takes over a second. */
export class Progress {
  readonly #enabled: boolean;
  /** When what is shown now began; a watch is idle for a long time between its two scans. */
  #started: number | 'not yet' = 'not yet';
  #last = 0;
  #shown = false;
  #entries = 0;
  #scan = new ScanLine();
  #pace = new Pace();

  constructor(quiet: boolean) {
    this.#enabled = !quiet && process.stderr.isTTY === true;
  }

  /** Shows how far a scan is. */
  scan(progress: ScanProgress): void {
    this.#show((now) => {
      // A close may scan more than once.
      if (progress.entries < this.#entries) this.#scan = new ScanLine();
      this.#entries = progress.entries;
      return this.#scan.text(progress, now);
    });
  }

  /** Shows how far a rewind is. */
  rewind(done: number, total: number): void {
    this.#show((now) => {
      this.#pace.note(done, now);
      const left = this.#pace.msFor(total - done);
      const when = left === 'unknown' || done === total ? '' : `, ${timeLeft(left)}`;
      return `${Math.floor((100 * done) / Math.max(1, total))}% rewound${when}`;
    });
  }

  /** Shows how far a check is. */
  check(bytes: number): void {
    this.#show((now) => {
      this.#pace.note(bytes, now);
      const rate = this.#pace.perSecond();
      return `${formatSize(bytes)} checked${rate === 0 ? '' : `, ${formatSize(rate)}/s`}`;
    });
  }

  /** Clears the line. */
  end(): void {
    if (this.#shown) writeSync(process.stderr.fd, '\r\u001b[K');
    this.#shown = false;
    this.#started = 'not yet';
    this.#entries = 0;
    this.#scan = new ScanLine();
    this.#pace = new Pace();
  }

  #show(line: (now: number) => string): void {
    if (!this.#enabled) return;
    const now = Date.now();
    if (this.#started === 'not yet') this.#started = now;
    if (now - this.#last < EVERY_MS) return;
    this.#last = now;
    const text = `preimage: ${line(now)}`;
    if (now - this.#started < PATIENCE_MS) return;
    this.#shown = true;
    // Written at once: a scan does not give way to the event loop. A line that wraps could not be
    // cleared again.
    const width = process.stderr.columns || text.length + 1;
    writeSync(process.stderr.fd, `\r${text.slice(0, width - 1)}\u001b[K`);
  }
}
