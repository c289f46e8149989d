import type { Sha256 } from './image.js';

/**
 * Where a reader puts the bytes of files: the copy-on-first-change cache, seen from below.
 *
 * It stands in the core so that the scan can fill the store without knowing it.
 */
export type ContentSink = {
  /** Reports whether bytes with this hash are safe already. */
  readonly has: (sha256: Sha256) => boolean;
  /** Takes a whole content; the buffer is free again after the call. */
  readonly put: (sha256: Sha256, bytes: Uint8Array) => void;
  /** Takes a content piece by piece. */
  readonly stream: () => ContentStream;
};

/** A content on its way in: exactly one of `commit` and `abort` ends it. */
export type ContentStream = {
  readonly write: (bytes: Uint8Array) => void;
  /** Keeps what was written under this hash. */
  readonly commit: (sha256: Sha256) => void;
  /** Forgets what was written: the file changed while it was read, or is known. */
  readonly abort: () => void;
};
