import fc from 'fast-check';
import { expect, test } from 'vitest';
import { anyLife, figures, live } from './run.js';

const RUNS = Number(process.env.PREIMAGE_MODEL_RUNS ?? 120);

test('whatever happens to a workspace, a rewind does what the contract says, path by path', async () => {
  await fc.assert(fc.asyncProperty(anyLife, live), { numRuns: RUNS });
  expect(figures.rewinds).toBeGreaterThan(RUNS / 2);
  console.log(figures);
}, 600_000);
