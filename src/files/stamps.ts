import fs from 'node:fs';
import type { ByteString } from '../core/relpath.js';
import { toNative } from './native-path.js';

/** Whether a file system's stamps can be believed, and its name where they cannot. */
export type StampTrust =
  | { readonly kind: 'trusted' }
  | { readonly kind: 'untrusted'; readonly fileSystem: string };

/** Judges the file system of a directory by its `statfs` type; only Linux tells one. */
export function stampTrust(directory: ByteString): StampTrust {
  if (process.platform !== 'linux') return TRUSTED;
  let type: number;
  try {
    type = Number(BigInt.asUintN(32, fs.statfsSync(toNative(directory), { bigint: true }).type));
  } catch {
    return { kind: 'untrusted', fileSystem: 'unknown' };
  }
  const fileSystem = UNTRUSTED[type];
  return fileSystem === undefined ? TRUSTED : { kind: 'untrusted', fileSystem };
}

const TRUSTED: StampTrust = { kind: 'trusted' };

// statfs(2) and include/uapi/linux/magic.h: systems whose stamps come from elsewhere or are coarse.
const UNTRUSTED: Readonly<Record<number, string>> = {
  26985: 'NFS',
  20859: 'SMB',
  4283649346: 'CIFS',
  4266872130: 'SMB2',
  1702057286: 'FUSE',
  16914839: '9p',
  19780: 'FAT',
  538032816: 'exFAT',
  12805120: 'Ceph',
  1397113167: 'AFS',
  2020557398: 'vboxsf',
};
