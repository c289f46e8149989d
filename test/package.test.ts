import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const DIST = fileURLToPath(new URL('../dist', import.meta.url));

test('what is started by its place beside the code that starts it lies there', () => {
  const started = builtFiles().flatMap((file) =>
    [...fs.readFileSync(file, 'utf8').matchAll(/new URL\("(\.[^"]+)", import\.meta\.url\)/g)].map(
      ([, name = '']) => path.resolve(path.dirname(file), name),
    ),
  );
  expect(started.map((file) => path.basename(file)).sort()).toEqual([
    'host.js',
    'look-ahead-worker.js',
  ]);
  for (const file of started) expect([file, fs.existsSync(file)]).toEqual([file, true]);
});

test('a start loads few files of ours', () => {
  expect(builtFiles().length).toBeLessThan(60);
});

function builtFiles(): string[] {
  return fs
    .readdirSync(DIST, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.js'))
    .map((name) => path.join(DIST, name));
}
