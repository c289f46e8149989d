import { errnoOf, PreimageError } from '../core/problem.js';
import { isPidInUse } from '../files/process-identity.js';
import { UPKEEP, withLock } from '../store/lock.js';
import { readLog } from '../store/log.js';
import { sealPack } from '../store/pack-contents.js';
import { sealAbandoned } from './abandoned.js';
import { listLeases } from './control.js';
import { type Examined, examine } from './examine.js';
import { type Finding, findingsOf } from './findings.js';
import { liveLeases } from './leases.js';
import type { WhichWorkspace } from './locate.js';
import { mendIdentity } from './mend-identity.js';
import { repair } from './repair.js';
import { openKnownWorkspace, type Workspace } from './workspace.js';

/** What a check of a store came to. */
export type VerifyReport = {
  /** Nothing is damaged; after a repair: any more. */
  readonly whole: boolean;
  readonly findings: readonly Finding[];
  /** Ids of the turns that the damage touches. */
  readonly turns: readonly string[];
  /** What a repair did, in words; empty where there was none or nothing to do. */
  readonly repairs: readonly string[];
  readonly checked: {
    /** Lines of the log. */
    readonly lines: number;
    readonly contents: number;
    readonly bytes: number;
  };
};

/** How a store is to be checked. */
export type VerifyOptions = WhichWorkspace & {
  /** Sets what is damaged aside and makes the rest usable; deletes nothing. */
  readonly repair?: boolean;
  /** Told the bytes of each file that was read. */
  readonly onProgress?: (bytes: number) => void;
};

/**
 * Checks every line of the log and every stored byte of a workspace's store against its hash, and that
 * all that is named is there. Indexes of packs that are damaged are made anew, for they say nothing
 * that the packs do not say.
 *
 * Throws `no-such-turn` where nothing was recorded, `busy` where another upkeep of the store runs or,
 * for a repair, a process is at work in it, and `damaged` where not even the store's description can
 * be read and no repair was asked for.
 */
export function verifyStore(options: VerifyOptions): VerifyReport {
  const mended = options.repair === true ? mendIdentity(options) : [];
  const workspace = openKnownWorkspace(options);
  try {
    return withLock(workspace.layout.locks, UPKEEP, () => {
      const report = verifyLocked(workspace, options);
      return { ...report, repairs: [...mended, ...report.repairs] };
    });
  } finally {
    workspace.close();
  }
}

/** How often the check is repeated because the history moved on in the middle of it. */
const TRIES = 3;

function verifyLocked(workspace: Workspace, options: VerifyOptions): VerifyReport {
  const onProgress = options.onProgress ?? (() => {});
  endAbandoned(workspace);
  for (let tries = 1; ; tries++) {
    const examined = examine(workspace, onProgress);
    const findings = findingsOf(workspace, examined);
    const isDamaged = findings.some(({ kind }) => kind === 'damage');
    // What was named at the beginning may be named no more at the end: that is no damage.
    if (isDamaged && tries < TRIES && hasMovedOn(workspace, examined)) continue;
    makeIndexes(workspace, examined);
    const report = reportOf(examined, findings);
    if (!isDamaged || options.repair !== true) return report;
    refuseWhileAtWork(workspace);
    const repairs = repair(workspace, examined);
    const after = findingsOf(workspace, examine(workspace, onProgress));
    return { ...report, whole: after.every(({ kind }) => kind === 'note'), repairs };
  }
}

/** What a dead writer has left half written is no damage; what hinders this is told by the check. */
function endAbandoned(workspace: Workspace): void {
  try {
    sealAbandoned(workspace);
  } catch (error) {
    if (!(error instanceof PreimageError) && errnoOf(error) === '') throw error;
  }
}

function reportOf(examined: Examined, findings: readonly Finding[]): VerifyReport {
  const { pieces, manifests, details, big, packs } = examined;
  const found = findings.filter(({ kind }) => kind === 'damage');
  const inPacks = packs.reduce((sum, { bytes }) => sum + bytes, 0);
  return {
    whole: found.length === 0,
    findings,
    turns: [...new Set(found.flatMap(({ turns }) => turns))],
    repairs: [],
    checked: {
      lines: pieces.filter(({ kind }) => kind === 'line' || kind === 'damaged').length,
      contents: packs.reduce((sum, { good }) => sum + good.size, 0) + big.whole.size,
      bytes: manifests.bytes + details.bytes + big.bytes + inPacks,
    },
  };
}

function hasMovedOn({ layout }: Workspace, { pieces }: Examined): boolean {
  const last = pieces.findLast((piece) => piece.kind === 'line');
  try {
    return last?.kind === 'line' && readLog(layout.log).head !== last.parsed.hash;
  } catch (error) {
    if (error instanceof PreimageError && error.code === 'damaged') return false;
    throw error;
  }
}

/** Makes damaged indexes anew, and those that a dead writer has left missing. */
function makeIndexes({ layout }: Workspace, { packs, history }: Examined): void {
  const isIdle = liveLeases(layout, history).length === 0;
  for (const { number, index, faults } of packs) {
    if (faults.length > 0 || index === 'whole') continue;
    if (index === 'damaged' || isIdle) sealPack(layout.packs, number, { writer: 'ended' });
  }
}

function refuseWhileAtWork({ layout }: Workspace): void {
  const busy = listLeases(layout).find(({ pid }) => pid !== process.pid && isPidInUse(pid));
  if (busy === undefined) return;
  throw new PreimageError('busy', `Process ${busy.pid} is at work in this store.`, {
    hint: 'Repair it once that has finished.',
  });
}
