import { ENTRY, FLAG } from '../core/manifest-columns.js';
import type { ByteString, RelPath } from '../core/relpath.js';
import { CACHEDIR_MARK, VENV_MARK, type Verdict } from '../core/rules.js';
import { isCacheTag } from './listing.js';
import type { Place } from './places.js';
import type { ScanRequest } from './request.js';

/**
 * Decides which directories a walk goes into.
 *
 * At the close of a step (`keepCoverage`) a directory is covered exactly as it was at its opening: a
 * mark that came or went meanwhile must not turn what is known into unknown, or the other way round.
 */
export class Judge {
  readonly #request: ScanRequest;

  constructor(request: ScanRequest) {
    this.#request = request;
  }

  /** Judges by name and globs; `previous` is the index in the baseline, -1 where it is new. */
  directory(path: RelPath, previous: number, inherited: string): Verdict {
    const { coverage, keepCoverage, baseline } = this.#request;
    if (keepCoverage && baseline !== 'none' && previous >= 0) {
      if (baseline.type(previous) === ENTRY.directory) {
        if (!baseline.has(previous, FLAG.skipped)) return COVERED;
        return { kind: 'left-out', why: baseline.text(previous) };
      }
    }
    return coverage.judgeDirectory(path, inherited);
  }

  /** Judges a covered directory by the marks among its names. */
  marks(
    met: { readonly path: RelPath; readonly previous: number; readonly inherited: string },
    names: readonly ByteString[],
    reach: Place['at'],
  ): Verdict {
    if (met.path === '' || met.inherited !== '') return COVERED;
    if (this.#request.keepCoverage && met.previous >= 0) return COVERED;
    const isVenv = names.includes(VENV_MARK);
    const isCache = names.includes(CACHEDIR_MARK) && isCacheTag(reach(CACHEDIR_MARK));
    if (!isVenv && !isCache) return COVERED;
    return this.#request.coverage.judgeMarks(met.path, { isCache, isVenv });
  }
}

const COVERED: Verdict = { kind: 'covered' };
