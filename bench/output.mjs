// @ts-check

/** Where a run says what it found: tables as Markdown, or nothing if all is to be one JSON value. */
export class Output {
  #json;

  /** @param {boolean} json */
  constructor(json) {
    this.#json = json;
  }

  /** @param {...string} lines */
  print(...lines) {
    if (!this.#json) console.log(`${lines.join('\n')}\n`);
  }

  /** Says how far the run is, on standard error. @param {string} line */
  say(line) {
    const seconds = Math.round(performance.now() / 1_000);
    console.error(`${String(seconds).padStart(4)} s  ${line}`);
  }
}
