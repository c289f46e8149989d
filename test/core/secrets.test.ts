import { expect, test } from 'vitest';
import { relPath } from '../../src/core/relpath.js';
import { looksSecret } from '../../src/core/secrets.js';

const SECRET = [
  '.env',
  '.env.local',
  'shop/.envrc',
  'server.pem',
  'certs/tls.KEY',
  'id_rsa',
  '.ssh/config',
  'home/.ssh/id_ed25519',
  'id_ecdsa_sk',
  'github-token.txt',
  'TOKEN',
  'access_tokens.json',
  'client_secret.json',
  'Secrets.yml',
  'secrets/db.txt',
  'credentials',
  '.aws/credentials',
  'credentials.json',
  'service-account-prod.json',
  'passwords.txt',
  '.htpasswd',
  '.npmrc',
  '.netrc',
  'private-key.txt',
  'api_key',
  'keys.kdbx',
];

const PLAIN = [
  'environment.ts',
  'src/env.ts',
  'index.html',
  'id_rsa.pub',
  'tokenizer.ts',
  'src/tokenise.js',
  'tokens.css',
  'keyboard.ts',
  'monkey',
  'package.json',
  'key/readme.md',
];

test.each(SECRET)('%s looks like a secret', (path) => {
  expect(looksSecret(relPath(path))).toBe(true);
});

test.each(PLAIN)('%s does not', (path) => {
  expect(looksSecret(relPath(path))).toBe(false);
});
