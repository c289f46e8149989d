import type { ManifestBuilder } from '../core/manifest-builder.js';
import { FLAG, KEY } from '../core/manifest-columns.js';
import { isSettled } from '../core/trust.js';
import type { Device } from './devices.js';
import type { FileSum, ScanRequest } from './request.js';
import type { Rows } from './rows.js';
import type { WaitingFile } from './waiting.js';

/** Why what was left for want of time is not captured. */
const REASON = 'over the time budget';

/** Declares the files for which there was no time. */
export class OverBudget {
  readonly #request: ScanRequest;
  readonly #builder: ManifestBuilder;
  readonly #rows: Rows;
  #files = 0;
  #bytes = 0;

  constructor(request: ScanRequest, builder: ManifestBuilder, rows: Rows) {
    this.#request = request;
    this.#builder = builder;
    this.#rows = rows;
  }

  /** What was left by this scan. */
  get left(): FileSum {
    return { files: this.#files, bytes: this.#bytes };
  }

  /** Declares a file that has waited in vain. */
  leave(file: WaitingFile, device: Device): void {
    this.#files += 1;
    this.#bytes += Number(this.#builder.key(file.index, KEY.size));
    this.#skip(file, device);
  }

  /**
   * At a close, what the opening had no time for and nobody touched is no change, and is left: the cost
   * of a close is what changed. The next opening copies it.
   */
  stays(file: WaitingFile & { readonly sameKey: boolean; readonly device: Device }): boolean {
    const { baseline, keepCoverage } = this.#request;
    if (!keepCoverage || !file.sameKey || baseline === 'none') return false;
    if (!baseline.isOverBudget(file.previous)) return false;
    this.#skip(file, file.device);
    return true;
  }

  /**
   * Where a hash could be trusted its stamp can: whoever is the same file later, by all but the name,
   * has the bytes that were not copied (`turn/recall.ts`).
   */
  #skip(file: WaitingFile, { stampsTrusted, volatileInodes, probe }: Device): void {
    const ino = this.#builder.key(file.index, KEY.ino);
    const ctime = this.#builder.key(file.index, KEY.ctime);
    if (stampsTrusted && !volatileInodes.has(ino) && isSettled(ctime, probe)) {
      this.#builder.setFlags(file.index, FLAG.trusted);
    }
    this.#rows.skip(file, 'over-budget', REASON);
  }
}
