import type { HostProcess } from '../index.js';

/** What a command leaves for the end of the process, and what was begun for it. */
export type Context = {
  exitCode: number;
  json: boolean;
  /** A watcher host that is coming up. */
  readonly host: HostProcess | undefined;
};
