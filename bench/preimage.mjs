// @ts-check
import { join } from 'node:path';
import { closeTurn, openHook, openStore, openTurn } from '../dist/index.js';

/**
 * Our own library in this process, without the watcher: its start and ours are told apart from the
 * tables, see `start-up.mjs`.
 * @type {import('./peers/peer.mjs').MakePeer}
 */
export function preimage(root, home) {
  return inThisProcess({ root, home, include: [] });
}

/**
 * The same, with what a rule leaves out.
 * @param {readonly string[]} include
 * @returns {import('./peers/peer.mjs').MakePeer}
 */
export function preimageIncluding(include) {
  return (root, home) => inThisProcess({ root, home, include });
}

/**
 * How long a close takes for a file among the first and among the last quarter of them, when every
 * file changed. It means something only where the files of both are alike in size.
 * @param {string} root
 * @param {string} home
 * @param {() => void} change
 * @returns {Promise<{ first: number, last: number }>} milliseconds per file
 */
export async function closeInQuarters(root, home, change) {
  const where = { root, store: join(home, 'store'), turn: 'quarters', maxFile: 0 };
  await openHook({ ...where, watcher: 'none' });
  change();
  /** @type {{ files: number, at: number }[]} */
  const seen = [];
  await closeTurn({
    ...where,
    onProgress: ({ files }) => {
      seen.push({ files, at: performance.now() });
    },
  });
  const total = seen.at(-1)?.files ?? 0;
  const pace = /** @param {number} from @param {number} to */ (from, to) => {
    const start = seen.find(({ files }) => files >= from * total);
    const end = seen.find(({ files }) => files >= to * total);
    if (start === undefined || end === undefined) return Number.NaN;
    return (end.at - start.at) / (end.files - start.files);
  };
  return { first: pace(0, 0.25), last: pace(0.75, 1) };
}

/**
 * @param {{ root: string, home: string, include: readonly string[] }} how
 * @returns {import('./peers/peer.mjs').Peer}
 */
function inThisProcess({ root, home, include }) {
  const store = join(home, 'store');
  // No limit: the peers have none either.
  const where = { root, store, include, maxFile: 0 };
  /** @type {import('../dist/index.js').OpenTurn | undefined} */
  let open;
  let turn = '';
  const openNext = async () => {
    open = await openTurn(where);
    turn = open.turn;
  };
  const close = async () => {
    await open?.close();
    open = undefined;
  };
  return {
    name: 'preimage',
    kept: store,
    first: openNext,
    ready: async () => {
      // The first open is still there to be closed.
      await close();
      await openNext();
      await close();
    },
    before: openNext,
    after: close,
    restore: () => rewind(where, turn),
  };
}

/** @param {{ root: string, store: string }} where @param {string} turn */
async function rewind(where, turn) {
  const opened = openStore(where);
  try {
    const result = await opened.rewind({ turn });
    if (result.complete) return;
    const trouble = result.outcomes.find(({ outcome }) => outcome !== 'restored');
    throw new Error(`preimage: the rewind is not complete: ${JSON.stringify(trouble)}`);
  } finally {
    opened.close();
  }
}
