import type { OpenRecord } from '../core/records.js';
import { stampTrust } from '../files/stamps.js';
import type { ScanStart } from './scan-into-store.js';
import { resolveScan } from './settings.js';
import type { NamedManifest, Workspace } from './workspace.js';

/** What watchman said before a scan that opens a step. */
export type AskedFirst = {
  readonly scan: Pick<ScanStart, 'told' | 'clock' | 'newClock'>;
  /** For the step's line; undefined where watchman was not asked. */
  readonly record: OpenRecord['watchman'];
  /** It was to be asked and could not help. */
  readonly warnings: readonly string[];
};

/** A scan that looks at every file, as nobody was asked. */
export const NOT_ASKED: AskedFirst = {
  scan: { told: 'none', clock: '', newClock: false },
  record: undefined,
  warnings: [],
};

/** From so many names on the manifest is written once more, so that the next time they are fewer. */
const MANY_NAMES = 1000;

/**
 * Asks watchman, where the settings say so, what changed since the newest scan. Whatever it cannot
 * say for sure has every file looked at.
 */
export async function askFirst(
  { root }: Workspace,
  baseline: NamedManifest | 'none',
): Promise<AskedFirst> {
  if (resolveScan(root) !== 'watchman') return NOT_ASKED;
  // Elsewhere it may write a name in another way than it stands in a directory.
  if (process.platform !== 'linux') return fallback('watchman is used on Linux only', true, '');
  const trust = stampTrust(root);
  if (trust.kind === 'untrusted') {
    return fallback(`watchman cannot vouch for files on ${trust.fileSystem}`, true, '');
  }
  const { askWatchman } = await import('../watch/watchman.js');
  const since = baseline === 'none' ? '' : baseline.manifest.meta.clock;
  const answer = await askWatchman({ root, since });
  if (answer.kind === 'everything') return fallback(answer.why, answer.trouble, answer.mark);
  const { names, blind, mark: clock } = answer;
  return {
    scan: { told: { names, blind }, clock, newClock: names.length >= MANY_NAMES },
    record: { clock, named: names.length, reason: '' },
    warnings: [],
  };
}

/** What is recorded and said where a scan found that watchman had kept something back. */
export function notToldOf(path: string, { scan: { clock } }: AskedFirst): AskedFirst {
  return fallback(`watchman did not name ${path}, which had changed`, true, clock);
}

function fallback(reason: string, isTrouble: boolean, clock: string): AskedFirst {
  return {
    scan: { told: 'none', clock, newClock: true },
    record: { clock, named: null, reason },
    warnings: isTrouble ? [`every file was looked at: ${reason}`] : [],
  };
}
