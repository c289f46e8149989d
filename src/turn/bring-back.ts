import type { Sha256 } from '../core/image.js';
import type { LogRecord } from '../core/records.js';
import type { StoreLayout } from '../store/layout.js';
import type { Packs } from '../store/packs.js';
import type { Retired } from '../store/retired.js';
import { Trash } from '../store/trash.js';
import { contentsOf } from './named.js';

/**
 * Brings back what a prune has retired since a process began to rely on the store, and that the
 * process is about to name in the log; it holds the log's lock. `gone` where something is deleted
 * already, which takes an hour at the least.
 */
export function bringBackNamed(
  { layout, packs }: { readonly layout: StoreLayout; readonly packs: Packs },
  retired: readonly Retired[],
  record: LogRecord,
): 'all there' | 'gone' {
  if (retired.length === 0) return 'all there';
  packs.close();
  const missing = [...contentsOf(layout, record)].filter((sha256) => !packs.has(sha256));
  return rescue({ layout, packs }, missing) ? 'all there' : 'gone';
}

/** Brings contents back that are in the trash; false where one is not there either. */
export function rescue(
  { layout, packs }: { readonly layout: StoreLayout; readonly packs: Packs },
  missing: readonly Sha256[],
): boolean {
  if (missing.length === 0) return true;
  const trash = new Trash(layout);
  for (const name of trash.holding(missing)) trash.bringBack(name);
  packs.close();
  return missing.every((sha256) => packs.has(sha256));
}
