import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import * as v from 'valibot';
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
    'read-worker.js',
  ]);
  for (const file of started) expect([file, fs.existsSync(file)]).toEqual([file, true]);
});

test('a start loads few files of ours, and none that the command does not use', () => {
  expect(builtFiles().length).toBeLessThan(60);
  const asking = loadedBy('list');
  expect(asking.map((file) => path.basename(file))).toContain('main.js');
  expect(asking.length).toBeLessThan(16);
  const code = asking.map((file) => fs.readFileSync(file, 'utf8')).join('');
  // The names of the sources stand above their code.
  expect(code).toMatch(/^\/\/ src\/turn\/report\.ts$/m);
  for (const unused of [
    'turn/rewind',
    'turn/open-step',
    'scan/walk',
    'turn/doctor',
    'watch/bser',
  ]) {
    expect([unused, code.includes(`// src/${unused}.ts\n`)]).toEqual([unused, false]);
  }
});

/** Lists the built files that a command line with this command loads before it does anything. */
function loadedBy(command: string): string[] {
  const found = new Set<string>();
  const load = (file: string): void => {
    if (found.has(file)) return;
    found.add(file);
    const imports = fs.readFileSync(file, 'utf8').matchAll(/^import [^;]*?"(\.[^"]+)";$/gm);
    for (const [, name = ''] of imports) load(path.resolve(path.dirname(file), name));
  };
  const named = (name: RegExp): string => {
    const [file = ''] = builtFiles().filter((each) => name.test(path.basename(each)));
    return file;
  };
  load(path.join(DIST, 'cli', 'main.js'));
  load(named(/^run-/));
  load(named(new RegExp(`^${command}-`)));
  return [...found];
}

test('what is built asks for no package that is not a dependency, and names whose code is in it', () => {
  const manifest: unknown = JSON.parse(
    fs.readFileSync(path.join(DIST, '..', 'package.json'), 'utf8'),
  );
  const dependencies = Object.keys(
    v.parse(v.object({ dependencies: v.record(v.string(), v.string()) }), manifest).dependencies,
  );
  // Who uses the library reads its types as far as they lead.
  const types = typesFrom(path.join(DIST, 'index.d.ts'));
  const asked = [...builtFiles().map((file) => fs.readFileSync(file, 'utf8')), ...types];
  expect([...new Set(asked.flatMap(packagesIn))].sort()).toEqual(dependencies.sort());
  const licenses = fs.readFileSync(path.join(DIST, 'THIRD-PARTY-LICENSES.txt'), 'utf8');
  for (const name of ['commander', 'picomatch', 'node-diff3', 'valibot']) {
    expect(licenses).toMatch(new RegExp(`^${name} \\d`, 'm'));
  }
});

/** Lists the packages that a text imports, built-in modules left out. */
function packagesIn(text: string): string[] {
  const imports = text.matchAll(/(?:\bfrom|\bimport|\bimport\()\s*["']([@a-z][^"':]*)["']/g);
  return [...imports].map(([, name = '']) => name);
}

/** Reads the declarations that one file of them leads to. */
function typesFrom(entry: string): string[] {
  const texts = new Map<string, string>();
  const queue = [entry];
  for (let file = queue.pop(); file !== undefined; file = queue.pop()) {
    if (texts.has(file)) continue;
    const text = fs.readFileSync(file, 'utf8');
    texts.set(file, text);
    for (const [, name = ''] of text.matchAll(/["'](\.[^"']+)\.js["']/g)) {
      queue.push(path.resolve(path.dirname(file), `${name}.d.ts`));
    }
  }
  return [...texts.values()];
}

function builtFiles(): string[] {
  return fs
    .readdirSync(DIST, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.js'))
    .map((name) => path.join(DIST, name));
}
