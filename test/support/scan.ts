import { Buffer } from 'node:buffer';
import crypto from 'node:crypto';
import type { ContentSink } from '../../src/core/content-sink.js';
import type { Manifest } from '../../src/core/manifest.js';
import { fromText } from '../../src/core/relpath.js';
import { compileRules, DEFAULT_RULES, type Rules } from '../../src/core/rules.js';
import type { ScanRequest, ScanResult } from '../../src/scan/request.js';
import { scanTree } from '../../src/scan/scan.js';

/** A sink that keeps contents in memory. */
class MemorySink implements ContentSink {
  readonly contents = new Map<string, Buffer>();

  has(sha256: string): boolean {
    return this.contents.has(sha256);
  }

  put(sha256: string, bytes: Uint8Array): void {
    this.contents.set(sha256, Buffer.from(bytes));
  }

  stream(): ReturnType<ContentSink['stream']> {
    const pieces: Buffer[] = [];
    return {
      write: (bytes) => {
        pieces.push(Buffer.from(bytes));
      },
      commit: (sha256) => {
        this.contents.set(sha256, Buffer.concat(pieces));
      },
      abort: () => {},
    };
  }
}

/** Scans a directory with a sink of its own. */
export function scan(
  root: string,
  baseline: Manifest | 'none' = 'none',
  options: Partial<ScanRequest> & { readonly only?: Partial<Rules> } = {},
): ScanResult {
  return scanTree({
    root: fromText(root),
    store: '/nonexistent/store',
    coverage: compileRules({ ...DEFAULT_RULES, ...options.only }),
    sink: new MemorySink(),
    keepLarge: () => ({ kind: 'not-kept' }),
    baseline,
    keepCoverage: false,
    early: new Map(),
    round: 1,
    spotChecks: true,
    budget: 'none',
    readers: 'none',
    told: 'none',
    clock: '',
    attributes: 'leave',
    packs: () => [],
    onProgress: () => {},
    ...options,
  });
}

/** Hashes by the same algorithm, by a way of its own. */
export function sha256(bytes: string | Uint8Array): string {
  return crypto.createHash('sha256').update(bytes).digest('hex');
}
