/** A rate is that of so long: of the whole run it would not tell that it has become slow. */
const WINDOW_MS = 4000;
/** Before this much time or this much of the work nothing can be said of what is left. */
const LEAST_MS = 2000;
const LEAST_PART = 0.05;

type Sample = { readonly at: number; readonly done: number };

/** How fast something goes, from how much of it is done at some moments. */
export class Pace {
  #first: Sample | undefined;
  /** Those of the window, the oldest first. */
  #samples: Sample[] = [];

  /** Notes how much is done by now; times are in milliseconds. */
  note(done: number, at: number): void {
    const sample = { at, done };
    this.#first ??= sample;
    this.#samples.push(sample);
    while ((this.#samples[1]?.at ?? at) <= at - WINDOW_MS) this.#samples.shift();
  }

  /** Gives how much is done in a second by now; 0 where that cannot be told yet. */
  perSecond(): number {
    const [from, to] = [this.#samples.at(0), this.#samples.at(-1)];
    if (from === undefined || to === undefined || to.at - from.at < LEAST_MS / 2) return 0;
    return (1000 * (to.done - from.done)) / (to.at - from.at);
  }

  /**
   * Gives the milliseconds that the rest takes at the pace of the whole run, which does not jump;
   * `unknown` while too little of it is done.
   */
  msFor(rest: number): number | 'unknown' {
    const [from, to] = [this.#first, this.#samples.at(-1)];
    if (from === undefined || to === undefined || to.at - from.at < LEAST_MS) return 'unknown';
    const done = to.done - from.done;
    if (done <= 0 || done < LEAST_PART * (done + rest)) return 'unknown';
    return (rest * (to.at - from.at)) / done;
  }
}

/** Writes how much time is left, in steps that do not make the eye jump: `12 s`, `3 min`, `1 h 5 min`. */
export function timeLeft(ms: number): string {
  const seconds = Math.max(1, Math.ceil(ms / 1000));
  if (seconds <= 10) return `${seconds} s left`;
  if (seconds < 58) return `${5 * Math.round(seconds / 5)} s left`;
  const minutes = Math.ceil(seconds / 60);
  if (minutes < 60) return `${minutes} min left`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min left`;
}
