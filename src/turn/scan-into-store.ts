import { diffManifests, sameFiles } from '../core/diff.js';
import type { Manifest } from '../core/manifest.js';
import { fromText, type RelPath } from '../core/relpath.js';
import { compileRules, type Rules } from '../core/rules.js';
import type { EarlyHash, ScanProgress, ScanResult, ToldChanges } from '../scan/request.js';
import { scanTree } from '../scan/scan.js';
import { BigFiles } from '../store/big-files.js';
import { syncManifest, writeManifest } from '../store/manifests.js';
import { PackWriter } from '../store/pack-writer.js';
import { packName, RetiredList } from '../store/retired.js';
import { ReaderThread } from './reader-thread.js';
import type { NamedManifest, Workspace } from './workspace.js';

/** What a scan into the store starts from. */
export type ScanStart = {
  readonly rules: Rules;
  readonly baseline: NamedManifest | 'none';
  readonly keepCoverage: boolean;
  readonly early: ReadonlyMap<RelPath, EarlyHash>;
  readonly round: number;
  /** What has changed since the baseline by watchman's word. */
  readonly told: ToldChanges | 'none';
  /** Where watchman stood before, `''` where it was not asked. */
  readonly clock: string;
  /** The baseline's clock is of no use any more. */
  readonly newClock: boolean;
  /** A step is to begin from the manifest, so it must outlive a power cut. */
  readonly begins: boolean;
  /** Milliseconds for the scan, `none` for as long as it takes. */
  readonly budget: number | 'none';
  readonly onProgress: (progress: ScanProgress) => void;
};

/** The workspace as it was found, all of its bytes durable in the store. */
export type Scanned = NamedManifest &
  Pick<ScanResult, 'warnings' | 'hashedFiles' | 'hashedBytes' | 'overBudget' | 'untold'>;

/**
 * Scans the workspace and makes its bytes and its manifest durable, in this order: whoever then names
 * the manifest in the log names only what is there.
 */
export function scanIntoStore(workspace: Workspace, start: ScanStart): Scanned {
  const { layout, packs } = workspace;
  workspace.renew();
  const writer = new PackWriter(layout.packs, (sha256) => packs.holds(sha256));
  const big = new BigFiles(layout.big);
  const readers = new ReaderThread(layout);
  const lost = start.baseline !== 'none' && !hasAllPacks(workspace, start.baseline);
  const baseline = lost ? 'none' : start.baseline;
  try {
    const result = scanTree({
      root: layout.root,
      store: fromText(layout.directory),
      coverage: compileRules(start.rules),
      sink: writer,
      // With a time budget the order matters, and who has read what when the time is up.
      readers: start.budget === 'none' ? readers : 'none',
      keepLarge: (path, stat) => big.keep(path, stat),
      baseline: baseline === 'none' ? 'none' : baseline.manifest,
      keepCoverage: start.keepCoverage,
      early: start.early,
      told: start.told,
      clock: start.clock,
      round: start.round,
      // Once a turn is enough: 2% of what is trusted.
      spotChecks: start.begins,
      budget:
        start.budget === 'none'
          ? 'none'
          : { ms: start.budget, now: steadyClock, sync: () => writer.sync() },
      attributes: 'ask',
      packs: () => {
        // A writer has a pack only once it has written.
        writer.flush();
        return reliedOn(workspace, [writer.number, readers.pack], baseline);
      },
      onProgress: start.onProgress,
    });
    readers.end();
    writer.sync();
    big.sync();
    writer.close();
    readers.ended();
    packs.refresh();
    const { hashedFiles, hashedBytes, overBudget, untold } = result;
    const warnings = lost ? [LOST_PACKS, ...result.warnings] : result.warnings;
    const named =
      baseline !== 'none' && saysTheSame(baseline, result, start)
        ? baseline
        : writeNamed(layout.manifests, result.manifest, start);
    workspace.holds(named);
    if (start.begins) syncManifest(layout.manifests, named.id);
    return { ...named, warnings, hashedFiles, hashedBytes, overBudget, untold };
  } catch (error) {
    // Nothing names what was written: it is dead from the start.
    writer.discard();
    readers.discard();
    throw error;
  }
}

/** The clock of the wall may be set while a scan runs. */
function steadyClock(): number {
  return performance.now();
}

function writeNamed(
  directory: string,
  found: Manifest,
  { clock, newClock }: ScanStart,
): NamedManifest {
  // Where nothing differs it is the baseline itself, with the clock of that.
  const manifest = newClock && clock !== '' ? found.withClock(clock) : found;
  return { id: writeManifest(directory, manifest), manifest };
}

/** So many files may be hashed once more at the close to save writing a manifest at the opening. */
const FEW_HASHES = 64;

/**
 * Reports whether a baseline can stand for a scan: nothing differs, or, where a step is to begin, only
 * what is trusted. What the baseline does not trust the close hashes again.
 */
function saysTheSame(baseline: NamedManifest, result: ScanResult, start: ScanStart): boolean {
  if (start.newClock && start.clock !== '') return false;
  if (result.manifest === baseline.manifest) return true;
  if (!start.begins || result.learned || result.hashedFiles > FEW_HASHES) return false;
  if (!sameFiles(baseline.manifest, result.manifest)) return false;
  return diffManifests(baseline.manifest, result.manifest).length === 0;
}

/** Names the packs that the new manifest's hashes stand for. */
function reliedOn(
  { packs }: Workspace,
  written: readonly (number | 'none')[],
  baseline: NamedManifest | 'none',
): number[] {
  const named = new Set(packs.reliedOn());
  if (baseline !== 'none') for (const each of baseline.manifest.meta.packs) named.add(each);
  for (const number of written) if (number !== 'none') named.add(number);
  return [...named].sort((a, b) => a - b);
}

const LOST_PACKS = 'packs are missing from the store, so every file was read and stored anew';

/**
 * A manifest vouches for bytes in packs; if one of those was taken away, its hashes prove nothing. A
 * pack that was retired went with what nobody needs; what was needed is in the pack that is named
 * instead.
 */
function hasAllPacks({ layout, packs }: Workspace, { manifest }: NamedManifest): boolean {
  const present = new Set(packs.numbers().map(packName));
  const wanted = manifest.meta.packs.map(packName);
  if (wanted.every((name) => present.has(name))) return true;
  const into = new Map(new RetiredList(layout.packs).all().map((each) => [each.name, each.into]));
  return wanted.every((name) => {
    let at = name;
    while (!present.has(at)) {
      const next = into.get(at) ?? 'lost';
      if (next === 'none') return true;
      if (next === 'lost') return false;
      at = next;
    }
    return true;
  });
}
