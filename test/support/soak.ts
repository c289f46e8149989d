import { appendFileSync } from 'node:fs';

/** Chooses how long a test runs: its short form in `npm test`, its long one in `npm run soak`. */
export function inSoak<T>(long: T, otherwise: T): T {
  return process.env.PREIMAGE_SOAK === '1' ? long : otherwise;
}

/** Hands figures on to the soak's table; nothing happens with them elsewhere. */
export function tell(what: string, figures: Readonly<Record<string, number>>): void {
  const file = process.env.PREIMAGE_FIGURES;
  if (file !== undefined) appendFileSync(file, `${JSON.stringify({ what, figures })}\n`);
}
