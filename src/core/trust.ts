/** How a remembered hash may be treated. */
export type Trust =
  /** Nothing moved since it was hashed: the hash stands. */
  | 'reuse'
  /** The stat key differs, was racy, or cannot be believed here: hash again. */
  | 'hash';

/** What is known of a file when its hash may be reused. */
export type TrustQuestion = {
  /** The stat key equals the remembered one in every field. */
  readonly sameKey: boolean;
  /** The entry was hashed when its ctime lay strictly before the probe: see {@link isSettled}. */
  readonly trusted: boolean;
  /** The file system keeps stamps that can be believed (no network, FUSE or FAT). */
  readonly stampsTrusted: boolean;
  /** Some process maps the file writable and shared: its bytes can change without a stamp. */
  readonly volatile: boolean;
};

/** Decides whether a remembered hash may be reused (DESIGN.md, "When a remembered hash may be trusted"). */
export function decideTrust(question: TrustQuestion): Trust {
  const { sameKey, trusted, stampsTrusted, volatile } = question;
  return sameKey && trusted && stampsTrusted && !volatile ? 'reuse' : 'hash';
}

/**
 * Reports whether a hash made after the probe can be trusted by the next scan: only if the file's
 * ctime lies strictly before the probe's, for a later write in the same tick of the file system's
 * clock would leave the same key.
 *
 * The answer is kept as a bit with the entry instead of the probe's time itself: both sides of the
 * comparison are fixed from this moment on.
 */
export function isSettled(ctimeNs: bigint, probeNs: bigint | 'none'): boolean {
  return probeNs !== 'none' && ctimeNs < probeNs;
}

/** One trusted entry in this many is hashed anyway each scan: 2%, as DESIGN.md asks. */
const SPOT_CHECK_PERIOD = 50;

/** Chooses the entries whose turn it is to be hashed although they are trusted. */
export function isSpotCheck(index: number, round: number): boolean {
  return (index + round) % SPOT_CHECK_PERIOD === 0;
}
