import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { type Call, callsOf } from './victim.js';
import { makeTurn, makeWorld, type World, withTurnThree } from './world.js';

/*
 * A kill does not test a power cut: what was written stays in the system's cache. So the order in which
 * things are made durable is held here, by the calls that were made.
 */

test('a command starts only when every old byte, the manifest and the log’s line are durable', async () => {
  const world = await makeWorld();
  fs.rmSync(world.store, { recursive: true });
  const args = [
    'watch',
    '--no-watch',
    '--max-file',
    '100KB',
    '--',
    'sh',
    '-c',
    'echo new > plain.txt',
  ];
  const at = await ordered(world, args);
  const open = at.nth(logLine, 0);
  const close = at.nth(logLine, 1);
  const command = at.only(({ name, path: what }) => name === 'spawn' && what.startsWith('sh -c'));

  for (const [from, line] of [[-1, open] as const, [open, close] as const]) {
    const manifest = at.between(from, line, renameInto('manifests'));
    for (const written of at.all(from, line, writesTo(/\.pack$/))) {
      at.between(written, manifest, synced(/\.pack$/));
    }
    at.between(at.last(from, manifest, synced(/\.pack$/)), manifest, synced(/\/packs$/));
    at.between(line, line + 2, synced(/\/log$/));
  }
  // A step begins from its manifest, so that outlives a power cut; the one of a close only saves work.
  const begins = at.between(-1, open, renameInto('manifests'));
  at.between(at.between(begins, open, synced(/\/manifests\//)), open, synced(/\/manifests$/));
  // The log itself is new, and so is the store.
  at.between(open, command, synced(/\/home\/store$/));
  at.between(-1, open, synced(/\/home$/));
  // A file over the limit is kept by a name in the store.
  const kept = at.between(
    -1,
    open,
    ({ name, path: to }) => name === 'linkSync' && /links\//.test(to),
  );
  at.between(kept, open, synced(/\/links$/));
  expect(at.between(open, close, synced(/\/log$/))).toBeLessThan(command);
});

test('post-images and long lists are durable before the line that closes the step', async () => {
  const world = await makeWorld();
  await makeTurn(world, 'open', () => {});
  const script = 'for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18; do echo $i > new$i; done';
  const at = await ordered(world, ['watch', '--no-watch', '--', 'sh', '-c', script]);
  const close = at.nth(logLine, 1);
  const command = at.only(({ name, path: what }) => name === 'spawn' && what.startsWith('sh -c'));
  const packed = at.last(command, close, writesTo(/\.pack$/));
  at.between(at.between(packed, close, synced(/\.pack$/)), close, synced(/\/packs$/));
  const detail = at.between(command, close, renameInto('details'));
  at.between(at.last(command, detail, writesTo(/\/details\//)), detail, synced(/\/details\//));
  at.between(detail, close, synced(/\/details$/));
  at.between(close, close + 2, synced(/\/log$/));
});

test('a rewind is durable step by step: journal, staged files, then names and modes', async () => {
  const world = await makeWorld();
  await makeTurn(world, 'few', () => {
    const at = (name: string): string => path.join(world.root, name);
    fs.writeFileSync(at('plain.txt'), 'changed\n');
    fs.chmodSync(at('only-mode'), 0o600);
    fs.chmodSync(at('nested/deep'), 0o711);
    fs.rmSync(at('nested/gone.txt'));
    fs.writeFileSync(at('also-outside'), 'longer than it was before, in place\n');
    fs.mkdirSync(at('made'));
    fs.writeFileSync(at('made/x'), 'x\n');
  });
  const at = await ordered(world, ['rewind', 'few']);
  const journal = at.nth(logLine, 0);
  const rewound = at.nth(logLine, 1);
  const inside = (call: Call): boolean => call.path.startsWith(`${world.root}/`);
  const first = at.first(inside);
  expect(at.between(journal, first, synced(/\/log$/))).toBeGreaterThan(journal);

  const moved = at.first(
    (call) => inside(call) && /^(rename|link|unlink|rmdir)Sync$/.test(call.name),
  );
  for (const staged of at.all(journal, moved, writesTo(/\/\.preimage-/))) {
    at.between(staged, moved, synced(/\/\.preimage-/));
  }
  for (const [change, place] of [
    [/^renameSync$/, /\/ws$/],
    [/^rmdirSync$/, /\/ws$/],
    [/^linkSync$/, /\/nested$/],
    [/^chmodSync$/, /\/only-mode$/],
    [/^chmodSync$/, /\/nested\/deep$/],
    [/^ftruncateSync$/, /\/also-outside$/],
    [/^fchmodSync$/, /\/also-outside$/],
  ] as const) {
    const made = at.last(moved - 1, rewound, (call) => {
      const what = call.to ?? call.path;
      return (
        inside(call) &&
        change.test(call.name) &&
        (place.test(what) || place.test(path.dirname(what)))
      );
    });
    at.between(made, rewound, synced(place));
  }
  at.between(rewound, rewound + 2, synced(/\/log$/));
});

test('a rewind of many files is durable by two syncs of their file system', async () => {
  const world = await withTurnThree(await makeWorld());
  const at = await ordered(world, ['rewind', 'three']);
  const detail = at.between(-1, at.nth(logLine, 0), renameInto('details'));
  const journal = at.between(detail, Number.POSITIVE_INFINITY, logLine);
  at.between(detail, journal, synced(/\/details$/));
  const rewound = at.nth(logLine, 1);
  const inside = (call: Call): boolean => call.path.startsWith(`${world.root}/`);
  const moved = at.first(
    (call) => inside(call) && /^(rename|link|unlink|rmdir)Sync$/.test(call.name),
  );
  const sync = ({ name, path: what }: Call): boolean =>
    name === 'spawnSync' && what === `/bin/sync -f ${world.root}`;
  at.between(at.last(journal, moved, writesTo(/\/\.preimage-/)), moved, sync);
  at.between(at.last(moved, rewound, inside), rewound, sync);
});

test('what the library writes is durable before it takes its place', async () => {
  const world = await makeWorld();
  const at = await ordered(world, 'library');
  const inside = ({ name, to }: Call): boolean =>
    name === 'renameSync' && to?.startsWith(`${world.root}/`) === true;
  const moves = at.all(at.nth(logLine, 0), at.nth(logLine, 1), inside);
  expect(moves).toHaveLength(5);
  let from = at.nth(logLine, 0);
  for (const move of moves) {
    at.between(at.last(from, move, writesTo(/\/\.preimage-/)), move, synced(/\/\.preimage-/));
    from = move;
  }
});

type Which = (call: Call) => boolean;

const logLine: Which = ({ name, path: what }) =>
  name === 'writeSync' && what.endsWith('/store/log');

function writesTo(place: RegExp): Which {
  return ({ name, path: what }) => /^write(File)?Sync$/.test(name) && place.test(what);
}

function synced(place: RegExp): Which {
  return ({ name, path: what }) => /^f(data)?syncSync$/.test(name) && place.test(what);
}

function renameInto(directory: string): Which {
  return ({ name, to }) =>
    name === 'renameSync' && to !== undefined && path.basename(path.dirname(to)) === directory;
}

/** Runs a program and finds its calls by their order; what is not found fails the test. */
async function ordered(world: World, program: readonly string[] | 'library') {
  const { calls, run } = await callsOf(world, program);
  expect(run).toMatchObject({ code: 0 });
  const all = (from: number, to: number, which: Which): number[] =>
    calls.flatMap((call, i) => (i > from && i < to && which(call) ? [i] : []));
  const one = (found: readonly number[], index: number, which: Which): number => {
    const number = found.at(index);
    if (number !== undefined) return number;
    const shown = calls.map(({ name, path: what, to = '' }, i) => `${i} ${name} ${what} ${to}`);
    throw new Error(`no call fits ${which} (${index})\n${shown.join('\n')}`);
  };
  const end = calls.length;
  return {
    all,
    between: (from: number, to: number, which: Which) => one(all(from, to, which), 0, which),
    last: (from: number, to: number, which: Which) => one(all(from, to, which), -1, which),
    first: (which: Which) => one(all(-1, end, which), 0, which),
    nth: (which: Which, index: number) => one(all(-1, end, which), index, which),
    only: (which: Which) => {
      const found = all(-1, end, which);
      expect(found).toHaveLength(1);
      return one(found, 0, which);
    },
  };
}
