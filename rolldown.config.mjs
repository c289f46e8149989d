// Bundles our own code, so that a start opens a few files instead of two hundred: hooks are started
// hundreds of times a day. What others wrote stays in its packages.
import { defineConfig } from 'rolldown';

export default defineConfig({
  input: {
    index: 'src/index.ts',
    'cli/main': 'src/cli/main.ts',
    // Started by their place beside the code that starts them: see `chunkFileNames`.
    'turn/host': 'src/turn/host.ts',
    'turn/look-ahead-worker': 'src/scan/look-ahead-worker.ts',
  },
  platform: 'node',
  external: [/^node:/, /^[@a-z]/],
  output: {
    dir: 'dist',
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: 'turn/[name]-[hash].js',
  },
});
