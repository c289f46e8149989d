import fs from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { inSoak, tell } from '../support/soak.js';
import { temporary } from '../support/tree.js';
import { killWatch } from './killed-watch.js';
import { anyCommand, anyLife, figures, live } from './run.js';

test(
  'a watch that is killed at any moment loses no pre-image, and what comes after goes on as ever',
  async () => {
    const base = temporary();
    fs.mkdirSync(join(base, 'ws'));
    const started = performance.now();
    await killWatch({ root: join(base, 'ws'), store: join(base, 'store'), after: 60_000 });
    const whole = Math.ceil(performance.now() - started);
    const killed = fc.record({
      do: fc.constant('killed' as const),
      after: fc.nat({ max: whole }),
    });
    const rest = fc.array(anyCommand, { minLength: 1, maxLength: 6, size: 'max' });
    const life = fc
      .tuple(anyLife, killed, rest)
      .map(([before, kill, after]) => [
        ...before.slice(0, 5),
        kill,
        { do: 'rewind', turn: 'newest', paths: [], force: false, atOnce: false } as const,
        ...after,
      ]);
    // A kill comes when it comes: to shrink what it came upon would find another moment.
    await fc.assert(fc.asyncProperty(life, live), {
      numRuns: inSoak(60, 6),
      endOnFailure: true,
    });
    expect(figures.kills).toBeGreaterThan(5);
    tell('kills of a watch', {
      worlds: figures.worlds,
      kills: figures.kills,
      rewinds: figures.rewinds,
      lost: 0,
    });
  },
  inSoak(300_000, 60_000),
);
