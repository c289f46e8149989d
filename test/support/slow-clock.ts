import { fileURLToPath, pathToFileURL } from 'node:url';
import { vi } from 'vitest';

/** A clock on which a millisecond goes by with each look at it: time budgets become numbers of files. */
export function slowClock(): () => number {
  let time = 0;
  return () => ++time;
}

/** Puts the slow clock in the place of this process's own until the mocks are restored. */
export function slowDown(): void {
  vi.spyOn(performance, 'now').mockImplementation(slowClock());
}

/** The environment of a command line that has the slow clock. */
export const SLOW: NodeJS.ProcessEnv = {
  NODE_OPTIONS: `--import ${pathToFileURL(fileURLToPath(new URL('./slow-clock.mjs', import.meta.url)))}`,
};

/** The budget with which so many files are copied: two looks come before the first, one at each. */
export function timeFor(files: number): number {
  return files + 2;
}
