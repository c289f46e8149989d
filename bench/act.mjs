// @ts-check
/**
 * One act of preimage as a script of its own, for `alone.mjs` and for a profile of it:
 * `node --cpu-prof bench/act.mjs open '{"root":…,"store":…,"turn":…}'`.
 */
import fs from 'node:fs';
import { closeTurn, openHook, openStore } from '../dist/index.js';

/** @typedef {import('./alone.mjs').Act} Act @typedef {import('./alone.mjs').Where} Where */

/** @type {Record<Act, (where: Where) => Promise<unknown>>} */
const acts = {
  open: (where) => openHook({ ...where, maxFile: 0, watcher: 'none' }),
  close: (where) => closeTurn(where),
  rewind: async ({ turn, ...where }) => {
    const store = openStore(where);
    try {
      const { complete, outcomes } = await store.rewind({ turn });
      if (complete) return;
      const trouble = outcomes.find(({ outcome }) => outcome !== 'restored');
      throw new Error(`The rewind is not complete: ${JSON.stringify(trouble)}`);
    } finally {
      store.close();
    }
  },
};

const [, , act, where] = process.argv;
const start = performance.now();
await acts[/** @type {Act} */ (act)](JSON.parse(where ?? '{}'));
const ms = performance.now() - start;
console.log(JSON.stringify({ ms, peak: peakMemory() }));

/**
 * Of this program alone. What `getrusage` tells is no use here: it begins with the memory of the
 * process that started this one.
 */
function peakMemory() {
  try {
    const status = fs.readFileSync('/proc/self/status', 'utf8');
    const [, kilobytes] = /^VmHWM:\s*(\d+) kB$/m.exec(status) ?? [];
    if (kilobytes !== undefined) return Number(kilobytes) * 1024;
  } catch {
    // Another system, where the figure below is the best there is.
  }
  return process.resourceUsage().maxRSS * 1024;
}
