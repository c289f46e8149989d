import { readdirSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { join, posix, sep } from 'node:path';
import { parseSync, Visitor } from 'vite';
import { expect, test } from 'vitest';

/** What a folder of src may import besides itself: other folders, packages, Node's own modules. */
interface Layer {
  layers: readonly string[];
  packages: readonly string[];
  node: 'all' | 'types only';
}

const LAYERS: Readonly<Record<string, Layer>> = {
  core: {
    layers: [],
    packages: ['diff', 'picomatch', 'node-diff3', 'valibot'],
    node: 'types only',
  },
  files: { layers: ['core'], packages: [], node: 'all' },
  scan: { layers: ['core', 'files'], packages: [], node: 'all' },
  watch: {
    layers: ['core'],
    packages: ['@parcel/watcher', 'chokidar', 'valibot'],
    node: 'all',
  },
  store: { layers: ['core', 'files'], packages: ['valibot'], node: 'all' },
  turn: {
    layers: ['core', 'files', 'scan', 'watch', 'store'],
    packages: ['valibot'],
    node: 'all',
  },
  'index.ts': { layers: ['core', 'turn'], packages: [], node: 'all' },
  cli: { layers: ['index.ts'], packages: ['commander'], node: 'all' },
};

/** The one file outside cli/ that may end its process: it is a process entry, forked by path. */
const PROCESS_ENTRY = 'turn/host.ts';
const MAX_LINES = 300;

/** The files of src: path relative to src, with `/`, to text. */
type Sources = ReadonlyMap<string, string>;

interface Import {
  specifier: string;
  typeOnly: boolean;
  /** `url`: named by `new URL('./x.js', import.meta.url)`, as workers and forked entries are. */
  how: 'import' | 'url' | 'computed';
}

interface Facts {
  imports: Import[];
  /** `console` and `process.exit`, where they are used. */
  uses: string[];
}

const sources = readSources(join(import.meta.dirname, '..', 'src'));

test('every import in src follows the table of layers', () => {
  expect(layerOffences(sources)).toEqual([]);
});

test('no file in src imports itself through others, types included', () => {
  expect(cycles(sources)).toEqual([]);
});

test('only cli prints and ends the process', () => {
  expect(processOffences(sources)).toEqual([]);
});

test(`no file in src is longer than ${MAX_LINES} lines`, () => {
  const long = [...sources]
    .map(([file, text]) => ({ file, lines: text.replace(/\n$/, '').split('\n').length }))
    .filter(({ lines }) => lines > MAX_LINES)
    .map(({ file, lines }) => `src/${file}: ${lines} lines`);
  expect(long).toEqual([]);
});

test('an import against the table is found, however it is written', () => {
  const planted = new Map([
    ['core/fs.ts', `import { readFileSync } from 'node:fs'; import 'path';`],
    ['core/type.ts', `import type { Stats } from 'node:fs'; import * as v from 'valibot';`],
    ['core/up.ts', `export type { A } from '../files/a.js'; type B = import('../turn/b.js').B;`],
    ['scan/sibling.ts', `const a = await import('../store/log.js'); import '../core/a.js';`],
    ['scan/start.ts', `new Worker(new URL('../watch/worker.js', import.meta.url));`],
    ['scan/computed.ts', 'await import(name);'],
    ['store/package.ts', `import { watch } from 'chokidar/handler.js';`],
    ['cli/deep.ts', `import { open } from '../turn/open.js'; import { x } from '../index.js';`],
    ['turn/index.ts', `export * from '../index.js'; import { p } from '@parcel/watcher/x.js';`],
    ['files/out.ts', `import '../../test/tree.js'; // import '../turn/a.js'`],
    ['utils.ts', ''],
  ]);
  expect(layerOffences(planted)).toEqual([
    'src/core/fs.ts -> node:fs',
    'src/core/fs.ts -> path',
    'src/core/up.ts -> ../files/a.js',
    'src/core/up.ts -> ../turn/b.js',
    'src/scan/sibling.ts -> ../store/log.js',
    'src/scan/start.ts -> ../watch/worker.js',
    'src/scan/computed.ts -> import(…), which no table can hold: write the name out',
    'src/store/package.ts -> chokidar/handler.js',
    'src/cli/deep.ts -> ../turn/open.js',
    'src/turn/index.ts -> ../index.js',
    'src/turn/index.ts -> @parcel/watcher/x.js',
    'src/files/out.ts -> ../../test/tree.js',
    'src/utils.ts: belongs to no layer',
  ]);
});

test('a cycle is found and told file by file', () => {
  const planted = new Map([
    ['core/a.ts', `import type { B } from './b.js';`],
    ['core/b.ts', `import { c } from './c.js';`],
    ['core/c.ts', `export * from './a.js';`],
    ['core/d.ts', `import './a.js';`],
    ['scan/pool.ts', `new URL('./worker.js', import.meta.url);`],
    ['scan/worker.ts', `import './pool.js';`],
  ]);
  expect(cycles(planted)).toEqual(['src/core/a.ts -> core/b.ts -> core/c.ts -> core/a.ts']);
});

test('console and process.exit are found outside cli', () => {
  const planted = new Map([
    ['core/a.ts', `// console.log\nconst text = 'process.exit()'; console.error(text);`],
    ['turn/open.ts', 'process.exit(1); process.exitCode = 1;'],
    ['store/log.ts', `import { exit } from 'node:process'; import * as c from 'node:console';`],
    [PROCESS_ENTRY, 'console.log(1); process.exit(0);'],
    ['cli/main.ts', 'console.log(1); process.exit(0);'],
  ]);
  expect(processOffences(planted)).toEqual([
    'src/core/a.ts: console',
    'src/turn/open.ts: process.exit',
    'src/store/log.ts: node:process exit',
    'src/store/log.ts: node:console',
    'src/turn/host.ts: console',
  ]);
});

function layerOffences(files: Sources): string[] {
  return [...files].flatMap(([file, text]) => {
    const layer = LAYERS[layerOf(file)];
    if (layer === undefined) return [`src/${file}: belongs to no layer`];
    return readFacts(file, text)
      .imports.filter((found) => !isAllowed(file, layer, found))
      .map((found) =>
        found.how === 'computed'
          ? `src/${file} -> import(…), which no table can hold: write the name out`
          : `src/${file} -> ${found.specifier}`,
      );
  });
}

function isAllowed(file: string, layer: Layer, found: Import): boolean {
  const { specifier } = found;
  if (found.how === 'computed') return false;
  if (specifier.startsWith('.')) {
    const target = layerOf(resolve(file, specifier));
    return target === layerOf(file) || layer.layers.includes(target);
  }
  if (isBuiltin(specifier)) return layer.node === 'all' || found.typeOnly;
  return layer.packages.includes(packageOf(specifier));
}

/** Each cycle once, told from its first file in sorted order among those that were not yet seen. */
function cycles(files: Sources): string[] {
  const targets = new Map(
    [...files].map(([file, text]) => [
      file,
      readFacts(file, text)
        .imports.filter(({ how, specifier }) => how === 'import' && specifier.startsWith('.'))
        .map(({ specifier }) => resolve(file, specifier)),
    ]),
  );
  const found: string[] = [];
  const done = new Set<string>();
  const visit = (file: string, trail: readonly string[]): void => {
    const start = trail.indexOf(file);
    if (start !== -1) {
      found.push(`src/${[...trail.slice(start), file].join(' -> ')}`);
      return;
    }
    if (done.has(file)) return;
    for (const target of targets.get(file) ?? []) visit(target, [...trail, file]);
    done.add(file);
  };
  for (const file of targets.keys()) visit(file, []);
  return found;
}

function processOffences(files: Sources): string[] {
  return [...files].flatMap(([file, text]) => {
    if (layerOf(file) === 'cli') return [];
    return readFacts(file, text)
      .uses.filter((use) => !(file === PROCESS_ENTRY && use.endsWith('exit')))
      .map((use) => `src/${file}: ${use}`);
  });
}

function readFacts(file: string, text: string): Facts {
  const { program, errors } = parseSync(file, text);
  if (errors.length > 0) throw new Error(`Cannot parse src/${file}: ${errors[0]?.message}`);
  const imports: Import[] = [];
  const uses: string[] = [];
  const add = (specifier: string, typeOnly = false): void => {
    imports.push({ specifier, typeOnly, how: 'import' });
    if (/^(node:)?console$/.test(specifier)) uses.push('node:console');
  };
  new Visitor({
    ImportDeclaration(node) {
      const named = node.specifiers.filter((part) => part.type === 'ImportSpecifier');
      const typeOnly =
        node.importKind === 'type' ||
        (named.length > 0 &&
          named.length === node.specifiers.length &&
          named.every((part) => part.importKind === 'type'));
      add(node.source.value, typeOnly);
      const exits = named.some(
        ({ imported }) => imported.type === 'Identifier' && imported.name === 'exit',
      );
      if (exits && /^(node:)?process$/.test(node.source.value)) uses.push('node:process exit');
    },
    ExportNamedDeclaration(node) {
      if (node.source !== null) add(node.source.value, node.exportKind === 'type');
    },
    ExportAllDeclaration(node) {
      add(node.source.value, node.exportKind === 'type');
    },
    TSImportType(node) {
      add(node.source.value, true);
    },
    ImportExpression(node) {
      if (node.source.type === 'Literal' && typeof node.source.value === 'string') {
        add(node.source.value);
      } else {
        imports.push({ specifier: '', typeOnly: false, how: 'computed' });
      }
    },
    CallExpression(node) {
      const [name] = node.arguments;
      if (node.callee.type !== 'Identifier' || node.callee.name !== 'require') return;
      if (name?.type === 'Literal' && typeof name.value === 'string') add(name.value);
    },
    NewExpression(node) {
      const [name, base] = node.arguments;
      if (node.callee.type !== 'Identifier' || node.callee.name !== 'URL') return;
      if (base === undefined || name?.type !== 'Literal' || typeof name.value !== 'string') return;
      if (name.value.startsWith('.')) {
        imports.push({ specifier: name.value, typeOnly: false, how: 'url' });
      }
    },
    MemberExpression(node) {
      if (node.object.type !== 'Identifier') return;
      if (node.object.name === 'console') uses.push('console');
      if (node.object.name !== 'process' || node.property.type !== 'Identifier') return;
      if (node.property.name === 'exit') uses.push('process.exit');
    },
  }).visit(program);
  return { imports, uses };
}

/** The source file that a relative specifier names, relative to src; `../…` when it is outside. */
function resolve(file: string, specifier: string): string {
  return posix.join(posix.dirname(file), specifier).replace(/\.js$/, '.ts');
}

function layerOf(file: string): string {
  return file.split('/')[0] ?? file;
}

function packageOf(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}

function readSources(root: string): Sources {
  let names: string[];
  try {
    names = readdirSync(root, { recursive: true, encoding: 'utf8' });
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return new Map();
    throw error;
  }
  return new Map(
    names
      .filter((name) => name.endsWith('.ts'))
      .map((name) => name.split(sep).join('/'))
      .sort()
      .map((name) => [name, readFileSync(join(root, name), 'utf8')]),
  );
}
