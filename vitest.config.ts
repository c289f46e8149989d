import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // Each test has a place for stores of its own, and would fill it anew.
    env: { NODE_DISABLE_COMPILE_CACHE: '1' },
  },
});
