// Bundles our own code and the packages it is made with, so that a start opens a few files instead of
// hundreds: hooks are started hundreds of times a day. Watchers have native parts and stay packages.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig } from 'rolldown';

export default defineConfig({
  input: {
    index: 'src/index.ts',
    'cli/main': 'src/cli/main.ts',
    // Started by their place beside the code that starts them: see `chunkFileNames`.
    'turn/host': 'src/turn/host.ts',
    'turn/read-worker': 'src/turn/read-worker.ts',
    'turn/look-ahead-worker': 'src/scan/look-ahead-worker.ts',
  },
  platform: 'node',
  external: [/^node:/, '@parcel/watcher', 'chokidar'],
  plugins: [carryLicenses()],
  output: {
    dir: 'dist',
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: 'turn/[name]-[hash].js',
    // The first that matches takes a file, and all that the file needs and no earlier one has.
    codeSplitting: {
      groups: [
        // For the thread that looks ahead: it is to begin before the walk has ended.
        {
          name: 'paths',
          test: sources(
            'files/native-path',
            'core/manifest-columns',
            'turn/store-home',
            'turn/host-process',
          ),
        },
        // For watcher hosts and threads that read.
        {
          name: 'capture',
          test: sources(
            ...['core/rules', 'scan/elsewhere', 'watch/choose', 'watch/timeline'],
            ...[
              'store/big-files',
              'store/layout',
              'store/pack-writer',
              'store/packs',
              'store/spool',
            ],
            ...['turn/control', 'turn/early-hasher', 'turn/host-task'],
          ),
        },
        // For whoever only asks: `list`, `show`, `diff`.
        { name: 'history', test: sources('turn/store', 'core/foreign-words') },
        { name: 'turn', test: sources('turn/hooks') },
        { name: 'rewind', test: sources('turn/rewind', 'turn/watch-command', 'turn/live') },
        { name: 'verify', test: sources('turn/verify', 'turn/anchor') },
        { name: 'status', test: sources('turn/status') },
      ],
    },
    comments: { legal: true, annotation: true, jsdoc: false },
  },
});

/**
 * Matches files of ours by their path below `src`, without the ending.
 * @param {readonly string[]} paths
 */
function sources(...paths) {
  const anyOf = paths.map((path) => path.replaceAll('/', '[\\\\/]')).join('|');
  return new RegExp(`[\\\\/]src[\\\\/](?:${anyOf})\\.ts$`);
}

/** Writes down the licences of the packages whose code is in the bundle. */
function carryLicenses() {
  return {
    name: 'carry-licenses',
    generateBundle(_options, bundle) {
      const packages = new Set();
      for (const chunk of Object.values(bundle)) {
        for (const id of chunk.type === 'chunk' ? chunk.moduleIds : []) {
          const [directory] = /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id) ?? [];
          if (directory !== undefined) packages.add(directory);
        }
      }
      const texts = [...packages].map(licenseOf).sort();
      this.emitFile({
        type: 'asset',
        fileName: 'THIRD-PARTY-LICENSES.txt',
        source: `Code of these packages is part of the files beside this one.\n${texts.join('')}`,
      });
    },
  };
}

/** @param {string} directory */
function licenseOf(directory) {
  const { name, version } = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'));
  const file = readdirSync(directory).find((each) => /^licen[cs]e/i.test(each));
  if (file === undefined) throw new Error(`${name} has no licence that could be carried.`);
  const text = readFileSync(join(directory, file), 'utf8').trim();
  return `\n${'='.repeat(80)}\n${name} ${version}\n\n${text}\n`;
}
