import type { Sha256 } from '../core/image.js';
import type { Stat } from './stat.js';

/** What was done for a file over the size limit, with its stat key after that. */
export type LargeKept =
  /** Its bytes are safe, shared with it on disk: a content like any other. */
  | { readonly kind: 'cloned'; readonly sha256: Sha256; readonly stat: Stat }
  /** Its inode has a name in the store: safe from removal and replacement, not from writes into it. */
  | { readonly kind: 'linked'; readonly stat: Stat }
  | { readonly kind: 'not-kept' };
