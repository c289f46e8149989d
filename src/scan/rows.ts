import type { SkipCause } from '../core/image.js';
import type { Manifest } from '../core/manifest.js';
import type { ManifestBuilder } from '../core/manifest-builder.js';
import { ENTRY, FLAG, type StatKey } from '../core/manifest-columns.js';
import type { ByteString } from '../core/relpath.js';
import type { Stat } from '../files/stat.js';

/** A row that is being written, and its index in the baseline, -1 where it is new. */
type Row = { readonly index: number; readonly previous: number };

/** Writes the rows of the new manifest and notices whether anything in them differs from the baseline. */
export class Rows {
  /** No row differs from the baseline in place, key or text. */
  identical: boolean;
  /** Counts the entries that are new or whose stat key moved. */
  news = 0;
  readonly #builder: ManifestBuilder;
  readonly #baseline: Manifest | 'none';

  constructor(builder: ManifestBuilder, baseline: Manifest | 'none') {
    this.#builder = builder;
    this.#baseline = baseline;
    this.identical = baseline !== 'none';
  }

  /** Adds an entry that was looked at; `sameKey` where its stat key equals the baseline's. */
  add(entry: {
    readonly parent: number;
    readonly name: ByteString;
    readonly type: number;
    readonly stat: Stat;
    readonly previous: number;
  }): { readonly index: number; readonly sameKey: boolean } {
    const { parent, name, type, stat, previous } = entry;
    const index = this.#builder.add({ parent, name, type, flags: 0, key: stat, text: '' });
    const known = this.#baseline !== 'none' && previous >= 0;
    const sameKey = known && this.#builder.sameKey(index, this.#baseline, previous);
    if (!sameKey) this.news += 1;
    if (!sameKey || index !== previous) this.identical = false;
    return { index, sameKey };
  }

  /** Adds an entry of the baseline as it was. */
  copy(parent: number, baseline: Manifest, previous: number): number {
    const index = this.#builder.copy(parent, baseline, previous);
    if (index !== previous) this.identical = false;
    return index;
  }

  /** Adds the row of a root that is gone. */
  addNothing(): void {
    const type = ENTRY.none;
    this.#builder.add({ parent: 0, name: '', type, flags: 0, key: NO_KEY, text: '' });
    this.identical = false;
  }

  /** Adds an entry that could not even be looked at. */
  addUnknown(parent: number, name: ByteString, text: string): void {
    const flags = FLAG.skipped | FLAG.unlisted;
    this.#builder.add({ parent, name, type: ENTRY.other, flags, key: NO_KEY, text });
    this.identical = false;
  }

  /** Marks an entry as not captured. */
  skip({ index, previous }: Row, why: SkipCause, reason: string): void {
    this.#builder.setSkipped(index, why, reason);
    this.#compareText(previous, reason);
  }

  /** Marks a directory as left out by a rule. */
  leaveOut(row: Row, reason: string): void {
    this.#builder.setUnlisted(row.index, reason);
    this.skip(row, 'left-out', reason);
  }

  /** Marks a directory as one whose entries are not known. */
  unlist({ index, previous }: Row, reason: string): void {
    this.#builder.setUnlisted(index, reason);
    this.#compareText(previous, reason);
  }

  /** Sets a link's target. */
  setTarget({ index, previous }: Row, target: ByteString): void {
    this.#builder.setText(index, target);
    this.#compareText(previous, target);
  }

  #compareText(previous: number, text: string): void {
    const known = this.#baseline !== 'none' && previous >= 0;
    if (!known || this.#baseline.text(previous) !== text) this.identical = false;
  }
}

const NO_KEY: StatKey = {
  dev: 0n,
  ino: 0n,
  mode: 0n,
  uid: 0n,
  gid: 0n,
  size: 0n,
  mtimeNs: 0n,
  ctimeNs: 0n,
};
