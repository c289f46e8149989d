/** What a turn's id may look like. */
export const TURN_ID = /^[A-Za-z0-9._:-]{1,128}$/;

/** Reports whether a text can be a turn's id. */
export function isTurnId(text: string): boolean {
  return TURN_ID.test(text);
}

/** Gives the number of an id of the form `t1`, `t2`, …; 0 for any other. */
export function numberOfTurn(id: string): number {
  return Number(/^t(\d{1,9})$/.exec(id)?.[1] ?? 0);
}

/** Makes the next id of the form `t1`, `t2`, …: one above the highest that was ever taken. */
export function nextTurnId(taken: Iterable<string>, lastDropped: number): string {
  let highest = lastDropped;
  for (const id of taken) highest = Math.max(highest, numberOfTurn(id));
  return `t${highest + 1}`;
}
