import fc from 'fast-check';
import { expect, test } from 'vitest';
import { inSoak, tell } from '../support/soak.js';
import { anyLife, figures, live } from './run.js';

const LIVES = Number(process.env.PREIMAGE_LIVES ?? inSoak(2000, 110));

test(
  'whatever happens to a workspace, a rewind does what the contract says, path by path',
  async () => {
    await fc.assert(fc.asyncProperty(anyLife, live), { numRuns: LIVES });
    const { outcomes, ...counts } = figures;
    expect(counts.rewinds).toBeGreaterThan(LIVES / 2);
    tell('model: lives of a workspace', { ...counts, ...outcomes, lost: 0 });
  },
  inSoak(3_600_000, 120_000),
);
