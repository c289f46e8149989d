import { nameOf, type RelPath } from './relpath.js';

/** Names of files that mostly hold secrets, in small letters. */
const NAMES: readonly RegExp[] = [
  /^\.env/,
  /\.(?:pem|key|p12|pfx|jks|keystore|kdbx|ppk|ovpn|asc|gpg)$/,
  /^id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?$/,
  /^(?:credentials|credential)/,
  /secret/,
  /passw(?:or)?d|passphrase/,
  /private[-_. ]?key|api[-_. ]?key/,
  // A tokenizer is a program, design tokens are colours.
  /token(?!i[sz])(?!s?\.(?:css|scss|less)$)/,
  /^[._](?:netrc|npmrc|pypirc|pgpass|htpasswd|git-credentials|dockercfg|my\.cnf)$/,
  /^service[-_]account.*\.json$/,
];

/** Directories that hold secrets. */
const DIRECTORIES = /(?:^|\/)(?:\.ssh|\.aws|\.gnupg|\.kube|\.docker|secrets?)\//;

/** Public halves of keys hide nothing. */
const PUBLIC = /\.pub$/;

/**
 * Reports whether a path looks as if a secret stood in it: by its name alone, so it is a mark for
 * people and no proof of either.
 */
export function looksSecret(path: RelPath): boolean {
  const lower = path.toLowerCase();
  if (PUBLIC.test(lower)) return false;
  const name = nameOf(path).toLowerCase();
  return NAMES.some((pattern) => pattern.test(name)) || DIRECTORIES.test(lower);
}
