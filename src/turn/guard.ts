import { isRelPath } from '../core/relpath.js';
import { type Breach, compileRunRules, type RunRules } from '../core/run-rules.js';
import { HostReader } from './host-client.js';
import type { OpenedStep } from './open-step.js';

/** How often new events are looked for. */
const EVERY_MS = 20;

/**
 * Ends a command early once an event tells of a change of what is denied. What it does not hear of the
 * scan finds all the same.
 */
export class Guard {
  /** The first event that broke a rule. */
  seen: Breach | 'none' = 'none';
  readonly #host: HostReader;
  readonly #judge: (path: Breach['path']) => string;
  #timer: NodeJS.Timeout | undefined;

  constructor({ control }: OpenedStep, { deny }: RunRules) {
    this.#host = new HostReader(control);
    // A directory that has to be made on the way to what is allowed is no reason to stop.
    this.#judge = compileRunRules({ allow: [], deny });
  }

  start(stop: () => void): void {
    this.#timer = setInterval(() => {
      const count = this.#host.update();
      if (count === 0 || this.seen !== 'none') return;
      for (const { path } of this.#host.events.slice(-count)) {
        if (path === '' || !isRelPath(path)) continue;
        const rule = this.#judge(path);
        if (rule === '') continue;
        this.seen = { path, rule };
        stop();
        return;
      }
    }, EVERY_MS);
  }

  end(): void {
    clearInterval(this.#timer);
  }
}
