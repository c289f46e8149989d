import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ProcessIdentity } from '../core/records.js';
import { PRIVATE_FILE } from '../files/durable.js';
import { isAlive } from '../files/process-identity.js';
import { SpoolReader } from '../store/spool.js';
import type { WatcherFate } from '../watch/timeline.js';
import type { WatchEvent } from '../watch/watcher.js';
import { type Control, HostLineSchema } from './control.js';
import { type HostProcess, startHostProcess } from './host-process.js';
import type { HostTask } from './host-task.js';

/** How long an open waits for the host before the command starts without it. */
const READY_DEADLINE_MS = 1500;
/** How long a close waits for its cookie; longer while events keep coming. */
const COOKIE_DEADLINE_MS = 300;
const BUSY_COOKIE_DEADLINE_MS = 2000;

const POLL_MS = 2;

/** Has a watcher host watch for a step: the one that is coming up, or another. */
export function startHost(
  store: string,
  control: Control,
  { task, ready }: { readonly task: HostTask; readonly ready: HostProcess | undefined },
): void {
  writeFileSync(control.task, JSON.stringify(task), { mode: PRIVATE_FILE });
  if (ready?.assign(store, control.token) === true) return;
  startHostProcess().assign(store, control.token);
}

/** What a step's watcher said, read as it comes. */
export class HostReader {
  readonly events: WatchEvent[] = [];
  readonly troubles: string[] = [];
  readonly cookies = new Set<string>();
  fate: WatcherFate | 'starting' = 'starting';
  #identity: ProcessIdentity | undefined;
  readonly #reader: SpoolReader<typeof HostLineSchema>;
  readonly #control: Control;

  constructor(control: Control) {
    this.#control = control;
    this.#reader = new SpoolReader(control.events, HostLineSchema);
  }

  /** Takes in what the host has written since; gives how many events came. */
  update(): number {
    const before = this.events.length;
    for (const line of this.#reader.read()) {
      switch (line.t) {
        case 'host':
          this.#identity = line.identity;
          break;
        case 'ready':
          this.fate = { kind: 'watched', backend: line.watcher };
          break;
        case 'scan-only':
          this.fate = { kind: 'scan-only', reason: line.reason };
          break;
        case 'trouble':
          this.troubles.push(line.reason);
          break;
        case 'cookie':
          this.cookies.add(line.name);
          break;
        case 'event':
          this.events.push({ kind: line.event, path: line.path, at: line.at });
          break;
      }
    }
    return this.events.length - before;
  }

  /** Waits until the host watches, has given up, or the deadline is over. */
  async ready(): Promise<void> {
    const deadline = Date.now() + READY_DEADLINE_MS;
    for (this.update(); this.fate === 'starting' && Date.now() < deadline; this.update()) {
      await pause(POLL_MS);
    }
  }

  /** Writes a cookie that the watcher should see; nothing is said where it cannot be written. */
  writeCookie(name: string): void {
    try {
      writeFileSync(join(this.#control.cookies, name), '', { mode: PRIVATE_FILE });
    } catch {
      // No cookie will be seen, and that is what the timeline then says.
    }
  }

  /** Waits for a cookie; false after the deadline or where the host is not there. */
  async cookie(name: string): Promise<boolean> {
    const started = Date.now();
    let last = started;
    for (;;) {
      if (this.update() > 0) last = Date.now();
      if (this.cookies.has(name)) return true;
      if (this.fate === 'starting' || this.fate.kind !== 'watched' || !this.#isAlive())
        return false;
      const now = Date.now();
      if (now - last > COOKIE_DEADLINE_MS || now - started > BUSY_COOKIE_DEADLINE_MS) return false;
      await pause(POLL_MS);
    }
  }

  /** Says what became of the watcher, once the step is over. */
  verdict(): WatcherFate {
    if (this.fate === 'starting') {
      return { kind: 'died', reason: 'it did not start' };
    }
    if (this.fate.kind === 'watched' && !this.#isAlive()) {
      return { kind: 'died', reason: 'its process is gone' };
    }
    return this.fate;
  }

  /** Ends the host, hanging or not, by its pid. */
  end(): void {
    if (this.#identity === undefined || !this.#isAlive()) return;
    try {
      process.kill(this.#identity.pid, 'SIGKILL');
    } catch {
      // It ended by itself in this moment.
    }
  }

  #isAlive(): boolean {
    return this.#identity !== undefined && isAlive(this.#identity);
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
