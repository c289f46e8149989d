import type { FileImage } from '../core/image.js';
import type { Manifest } from '../core/manifest.js';
import { FLAG } from '../core/manifest-columns.js';
import type { RelPath } from '../core/relpath.js';
import { decideTrust } from '../core/trust.js';
import type { KnownFile } from '../files/look.js';
import { sharedWritableInodes } from '../files/mappings.js';
import { toNative } from '../files/native-path.js';
import { stampTrust } from '../files/stamps.js';
import { lstat, type Stat, stampOf } from '../files/stat.js';
import type { Workspace } from './workspace.js';

/**
 * Makes a function that knows a file without reading it, from the last scan and by the scan's own
 * trust rule. Files on another file system than the root's are not known: their stamps were not judged.
 */
export function trustedHashes(workspace: Workspace): KnownFile {
  const baseline = workspace.baseline(workspace.readLog());
  const root = lstat(toNative(workspace.root));
  if (baseline === 'none' || root === 'absent') return () => 'unknown';
  const stampsTrusted = stampTrust(workspace.root).kind === 'trusted';
  const { inodes } = sharedWritableInodes();
  return (path, stat) => {
    const index = baseline.manifest.find(path);
    if (index < 0 || stat.dev !== root.dev) return 'unknown';
    const trust = decideTrust({
      sameKey: isCapturedFile(baseline.manifest, index) && hasStamp(baseline.manifest, index, stat),
      trusted: baseline.manifest.has(index, FLAG.trusted),
      stampsTrusted,
      volatile: inodes.has(stat.ino),
    });
    return trust === 'reuse' ? imageOf(baseline.manifest, path) : 'unknown';
  };
}

function isCapturedFile(manifest: Manifest, index: number): boolean {
  return !manifest.has(index, FLAG.skipped);
}

function hasStamp(manifest: Manifest, index: number, stat: Stat): boolean {
  return manifest.stamp(index) === stampOf(stat);
}

function imageOf(manifest: Manifest, path: RelPath): FileImage | 'unknown' {
  const image = manifest.imageAt(path);
  return image.kind === 'content' && image.type === 'file' ? image : 'unknown';
}
