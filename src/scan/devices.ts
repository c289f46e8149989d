import type { ByteString } from '../core/relpath.js';
import { sharedWritableInodes } from '../files/mappings.js';
import { probeClock } from '../files/probe.js';
import { stampTrust } from '../files/stamps.js';

/** What a scan knows of one file system that the workspace spans. */
export type Device = {
  /** Its clock before anything on it was read, ns; `none` where it could not be taken. */
  readonly probe: bigint | 'none';
  readonly stampsTrusted: boolean;
  /** Inodes that some process maps writable and shared: see `files/mappings.ts`. */
  readonly volatileInodes: ReadonlySet<bigint>;
};

/** Probes each file system once, at the first directory of it that a scan meets. */
export class Devices {
  readonly #known = new Map<bigint, Device>();
  readonly #fallbackDirectory: ByteString;

  constructor(fallbackDirectory: ByteString) {
    this.#fallbackDirectory = fallbackDirectory;
  }

  /** Gives what is known of a device; `directory` is on it, and nothing on it was read before. */
  at(dev: bigint, directory: ByteString): Device {
    const known = this.#known.get(dev);
    if (known !== undefined) return known;
    // The clock first, the mappings after: a mapping that comes later faults at its first store, and
    // then the file's ctime is not before the probe.
    const probe = probeClock(directory, this.#fallbackDirectory);
    const { inodes: volatileInodes } = sharedWritableInodes();
    const stampsTrusted = stampTrust(directory).kind === 'trusted';
    const device: Device = { probe, stampsTrusted, volatileInodes };
    this.#known.set(dev, device);
    return device;
  }
}
