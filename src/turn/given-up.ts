/**
 * Steps of this process that it could not end, by their log: it lives on, but nobody works on them any
 * more, so they are recovered like those of a process that died. Other processes wait until it has
 * ended, as they cannot know.
 */
const GIVEN_UP = new Set<string>();

/** Runs the end of a step; where it throws, the step is given up. */
export function orGiveUp<T>(log: string, step: number, run: () => T): T {
  const giveUp = (error: unknown): never => {
    GIVEN_UP.add(keyOf(log, step));
    throw error;
  };
  try {
    const result = run();
    return result instanceof Promise ? (result.catch(giveUp) as T) : result;
  } catch (error) {
    return giveUp(error);
  }
}

/** Reports whether this process has given a step up. */
export function isGivenUp(log: string, step: number): boolean {
  return GIVEN_UP.has(keyOf(log, step));
}

function keyOf(log: string, step: number): string {
  return `${step} ${log}`;
}
