import fc from 'fast-check';
import { expect, test } from 'vitest';
import { inSoak, tell } from '../support/soak.js';
import { anyLife, figures, live } from './run.js';

/*
 * `anyLife` makes what happens, `run.ts` lives it on a real disk, `oracle.ts` says from the contract
 * what must come of it. A failure prints its seed and path, and the shortest life that still fails:
 * give all three to `fc.assert` to see it again.
 *
 * Faults that were seeded by hand into src, each caught by this test within 110 lives unless another
 * test is named:
 *
 *  1. the newest pre-image wins (core/squash)
 *  2. the oldest post-image wins (core/squash)
 *  3. a foreign edit between two turns is ignored (core/plan)
 *  4. what was not looked at is taken for absent (core/manifest): core/manifest.test.ts
 *  5. directories are deleted before what is in them (turn/apply-plan)
 *  6. permission bits of files are forgotten (files/place)
 *  7. permission bits of directories are forgotten (turn/apply-plan)
 *  8. names of one file come back as copies (core/placement)
 *  9. a rewind of some paths marks the turn as rewound (core/history)
 * 10. a rewind with conflicts marks the turn as rewound (core/history)
 * 11. redo takes the first rewind back instead of the last (turn/rewind)
 * 12. a redo leaves the turns marked as rewound (core/history)
 * 13. concurrent turns are taken along (core/history)
 * 14. a concurrent turn's later steps are taken along (core/history)
 * 15. paths that two turns changed are no conflict (core/plan)
 * 16. what was changed after the turn is overwritten: equal-after is not asked (core/plan)
 * 17. what is back already is taken for changed: equal-before is not asked (core/plan)
 * 18. a link is followed where a directory was (files/tree); contain/swapped.test.ts finds it at once
 * 19. a link's own target is not compared (core/image)
 * 20. empty directories are dropped (core/diff)
 * 21. permission bits are not compared (core/image)
 * 22. a rewrite of the same size with its time put back is missed: ctime left out (manifest-builder)
 * 23. a file over the limit at open is deleted (core/plan)
 * 24. what a rewind overwrites is not captured first (turn/capture-from)
 * 25. a directory that is not empty is planned to go (core/plan)
 * 26. a directory goes although something is put back into it (core/plan): lives.test.ts
 * 27. a file is put back where its directory is gone (core/plan)
 * 28. a rewind since counts as later work (turn/workspace)
 * 29. steps that overlap are strangers to each other (core/squash)
 * 30. a dry run is no dry run (turn/store)
 * 31. a path asked for takes its namesakes along, `a` and `a-` (core/relpath)
 * 32. paths are ordered as plain texts (core/relpath): core/relpath.test.ts
 * 33. a name that is no UTF-8 is stored as text (core/records)
 * 34. the name of a file that still stands is not found (turn/survivors)
 * 35. a chmod is undone through a name that was made since (core/placement): lives.test.ts
 * 36. a turn is closed with what was seen at its opening (turn/close-step)
 */

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
