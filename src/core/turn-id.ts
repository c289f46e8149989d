/** What a turn's id may look like. */
export const TURN_ID = /^[A-Za-z0-9._:-]{1,128}$/;

/** Reports whether a text can be a turn's id. */
export function isTurnId(text: string): boolean {
  return TURN_ID.test(text);
}

/** Makes the next id of the form `t1`, `t2`, …: one above the highest that was ever taken. */
export function nextTurnId(taken: Iterable<string>): string {
  let highest = 0;
  for (const id of taken) {
    const match = /^t(\d{1,9})$/.exec(id);
    if (match !== null) highest = Math.max(highest, Number(match[1]));
  }
  return `t${highest + 1}`;
}
