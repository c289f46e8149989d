import type { ManifestBuilder } from '../core/manifest-builder.js';
import { ENTRY, FLAG } from '../core/manifest-columns.js';
import type { ByteString, RelPath } from '../core/relpath.js';
import { isSettled, isSpotCheck } from '../core/trust.js';
import type { NativePath } from '../files/native-path.js';
import type { Stat } from '../files/stat.js';
import type { Device } from './devices.js';
import type { Listing } from './listing.js';
import type { ScanRequest } from './request.js';

/** An entry that a walk has met. */
export type MetEntry = {
  readonly name: ByteString;
  readonly native: NativePath;
  readonly index: number;
  readonly previous: number;
  readonly stat: Stat;
  /** Its stat key equals the baseline's. */
  readonly sameKey: boolean;
};

/** A directory that was added to the manifest and is to be listed. */
export type MetDirectory = {
  readonly path: RelPath;
  readonly index: number;
  /** Its index in the baseline, -1 where it is new. */
  readonly previous: number;
  readonly stat: Pick<Stat, 'dev' | 'ino' | 'ctimeNs'>;
  readonly device: Device;
  /** Why it is left out although something below it may be included; `''` where it is covered. */
  readonly inherited: string;
};

/** Names that the baseline knows. */
export type KnownListing = { readonly kind: 'known'; readonly names: readonly ByteString[] };

/** Names that were read now, or that the baseline knows. */
export type AnyListing = KnownListing | Extract<Listing, { kind: 'names' }>;

/**
 * Gives the names in a directory from the baseline, where its stat key vouches for them by the same
 * rule as a file's does for its bytes: no entry comes or goes without moving its directory's stamps.
 * That saves listing the directory, about ten microseconds each; every entry is still looked at.
 */
export class KnownNames {
  readonly #request: ScanRequest;
  readonly #builder: ManifestBuilder;

  constructor(request: ScanRequest, builder: ManifestBuilder) {
    this.#request = request;
    this.#builder = builder;
  }

  of({ index, previous, device }: MetDirectory): KnownListing | 'unknown' {
    const { baseline, round, spotChecks } = this.#request;
    if (baseline === 'none' || previous < 0 || !device.stampsTrusted) return 'unknown';
    if (baseline.type(previous) !== ENTRY.directory) return 'unknown';
    if (!baseline.has(previous, FLAG.trusted)) return 'unknown';
    if (spotChecks && isSpotCheck(index, round)) return 'unknown';
    if (!this.#builder.sameKey(index, baseline, previous)) return 'unknown';
    const { start, end } = baseline.children(previous);
    const names = Array.from({ length: end - start }, (_, i) => baseline.name(start + i));
    this.#builder.setFlags(index, FLAG.trusted);
    return { kind: 'known', names };
  }

  /**
   * Lets the next scan take a directory's names from this one, if its stamps can vouch for them;
   * `news` where the baseline did not say so yet.
   */
  settle({ index, previous, stat, device }: MetDirectory): 'news' | 'nothing' {
    if (!device.stampsTrusted || !isSettled(stat.ctimeNs, device.probe)) return 'nothing';
    this.#builder.setFlags(index, FLAG.trusted);
    const { baseline } = this.#request;
    const known = baseline !== 'none' && previous >= 0 && baseline.has(previous, FLAG.trusted);
    return known ? 'nothing' : 'news';
  }
}
