import fs from 'node:fs';
import path from 'node:path';
import { expect } from 'vitest';
import { closeTurn, openHook, openStore, PreimageError } from '../../src/index.js';
import { type Program, strike } from './victim.js';
import {
  changeThree,
  type Look,
  look,
  makeTurn,
  makeWorld,
  rewindTo,
  type World,
  withTurnThree,
} from './world.js';

/** A world in which a program is about to be cut off. */
export type Scene = {
  readonly world: World;
  readonly program: Program;
  /** What stands before the program has run, and what stands after it. */
  readonly before: Look;
  readonly after: Look;
};

/** A command that is cut off at every one of its calls. */
export type Command = {
  readonly name: string;
  /** Sets the scene; `at` is the number of the call that will be the last. */
  readonly prepare: (at: number) => Promise<Scene>;
  /** Says how a world must stand once a plain command has run after the cut. */
  readonly recovered: (scene: Scene) => Promise<void>;
  /** Does it again after the system has refused a call, and says how a world must stand then. */
  readonly finished?: (scene: Scene) => Promise<void>;
};

/** All of them; prune, repack and whatever else writes can be added by a line. */
export const COMMANDS: readonly Command[] = [
  {
    name: 'the first open',
    prepare: async () => {
      const world = await makeWorld();
      fs.rmSync(world.store, { recursive: true });
      return unchanging(world, OPEN);
    },
    recovered: async ({ world }) => {
      await makeTurn(world, 'three', () => {
        changeThree(world.root);
      });
      await expectBack(world, 'three', world.states[2]);
    },
  },
  {
    name: 'open',
    prepare: async () => {
      const world = await makeWorld();
      fs.writeFileSync(path.join(world.root, 'by-hand.txt'), 'new since the last turn\n');
      return unchanging(world, OPEN);
    },
    recovered: async ({ world, before }) => {
      await makeTurn(world, 'three', () => {
        changeThree(world.root);
      });
      await expectBack(world, 'three', before);
      fs.rmSync(path.join(world.root, 'by-hand.txt'));
      await expectBack(world, 'one', world.states[0]);
    },
  },
  {
    name: 'close',
    prepare: async () => {
      const world = await makeWorld();
      await openHook({ root: world.root, store: world.store, turn: 'three', watcher: 'none' });
      changeThree(world.root);
      return unchanging(world, ['close', '--turn', 'three']);
    },
    recovered: async ({ world }) => {
      await closeAgain(world);
      await expectBack(world, 'three', world.states[2]);
      await expectBack(world, 'one', world.states[0]);
    },
  },
  {
    name: 'rewind',
    prepare: async () => {
      const world = await withTurnThree(await makeWorld());
      return rewinding(world, ['rewind', 'three']);
    },
    recovered: async ({ world, before, after }) => {
      if (statusOf(world, 'three') === 'rewound') expect(look(world)).toEqual(after);
      else await expectBack(world, 'three', after, before);
      await redo(world);
      expect(look(world)).toEqual(before);
      await expectBack(world, 'one', world.states[0]);
    },
    finished: rewindAgain,
  },
  {
    name: 'rewind beside own work',
    prepare: async () => {
      const made = await withTurnThree(await makeWorld());
      const before = look({ ...made, ...writeOwnWork(made) });
      const after = { ...stateOf(made, 2), 'plain.txt': before['plain.txt'] ?? '' };
      return { world: made, program: ['rewind', 'three'], before, after };
    },
    recovered: async ({ world, after }) => {
      // However far it came: the turn is not rewound while something of it is left.
      expect(statusOf(world, 'three')).toBe('closed');
      expect(await rewindTo(world, 'three')).toEqual([expect.stringContaining('plain.txt')]);
      expect(look(world)).toEqual(after);
      const store = openStore(world);
      expect(await store.rewind({ turn: 'three', force: true })).toMatchObject({ complete: true });
      store.close();
      expect(look(world)).toEqual(world.states[2]);
    },
  },
  {
    name: 'redo',
    prepare: async () => {
      const world = await withTurnThree(await makeWorld());
      await rewindTo(world, 'three');
      const [before, after] = [stateOf(world, 2), stateOf(world, 3)];
      return { world, program: ['redo'], before, after };
    },
    recovered: async ({ world, after }) => {
      // However far it came: what was left out is redone, and then nothing is left to take back.
      await redoAll(world);
      expect(look(world)).toEqual(after);
      expect(statusOf(world, 'three')).toBe('closed');
      await expectBack(world, 'three', world.states[2]);
      await expectBack(world, 'one', world.states[0]);
    },
  },
  {
    name: 'the recovery of a rewind',
    prepare: async (at) => {
      const world = await withTurnThree(await makeWorld());
      // Cut off at ever other places, the first of them behind the journal.
      const cut = AFTER_JOURNAL + ((at * 37) % BEFORE_END);
      await strike(world, ['rewind', 'three'], { mode: 'before', at: cut });
      return rewinding(world, ['status']);
    },
    recovered: async ({ world, before, after }) => {
      expect(statusOf(world, 'three')).toBe('rewound');
      expect(look(world)).toEqual(after);
      await redo(world);
      expect(look(world)).toEqual(before);
      await expectBack(world, 'one', world.states[0]);
    },
    finished: rewindAgain,
  },
  {
    name: 'prune',
    prepare: async () => {
      const world = await withTurnThree(await makeWorld());
      return unchanging(world, ['prune', '--keep', '2']);
    },
    recovered: async ({ world }) => {
      // A plain command may have added a turn of its own.
      const keep = statusOf(world, 't1') === 'none' ? 2 : 3;
      expect(await strike(world, ['prune', '--keep', `${keep}`])).toMatchObject({ code: 0 });
      expect(statusOf(world, 'one')).toBe('none');
      await expectBack(world, 'three', world.states[2]);
      await expectBack(world, 'two', world.states[1]);
    },
  },
  {
    name: 'a turn of the library',
    prepare: async () => {
      const world = await makeWorld();
      const done = await withLibraryTurn(world);
      return { world, program: 'library', before: stateOf(world, 2), after: done };
    },
    recovered: async ({ world }) => {
      if (statusOf(world, 'three') !== 'none') await expectBack(world, 'three', world.states[2]);
      expect(await strike(world, 'library')).toMatchObject({ code: 0 });
      await expectBack(world, 'three', world.states[2]);
      await expectBack(world, 'one', world.states[0]);
    },
  },
];

const OPEN = ['open', '--turn', 'three', '--no-watch'];

/** Calls of a rewind of turn three up to its journal's line, and those from there to its end. */
const AFTER_JOURNAL = 20;
const BEFORE_END = 150;

function unchanging(world: World, program: Program): Scene {
  const now = look(world);
  return { world, program, before: now, after: now };
}

function rewinding(world: World, program: Program): Scene {
  return { world, program, before: stateOf(world, 3), after: stateOf(world, 2) };
}

function stateOf(world: World, number: number): Look {
  const state = world.states[number];
  if (state === undefined) throw new Error(`this world has no state ${number}`);
  return state;
}

function writeOwnWork({ root }: World): object {
  fs.writeFileSync(path.join(root, 'plain.txt'), 'my own work\n');
  return {};
}

/** Sees what the library's program leaves, and takes it back by hand. */
async function withLibraryTurn(world: World): Promise<Look> {
  const copy = { ...world, store: `${world.store}-2` };
  await strike(copy, 'library');
  const done = look(world);
  await rewindTo(copy, 'three');
  return done;
}

/** What was left out is put back by doing it again, and every rewind can be taken back. */
async function rewindAgain({ world, before, after }: Scene): Promise<void> {
  if (statusOf(world, 'three') !== 'rewound') expect(await rewindTo(world, 'three')).toEqual([]);
  expect(look(world)).toEqual(after);
  await redoAll(world);
  expect(look(world)).toEqual(before);
  await expectBack(world, 'one', world.states[0]);
}

/** Takes every rewind back, of a few. */
async function redoAll(world: World): Promise<void> {
  const store = openStore(world);
  try {
    for (let rewinds = 0; rewinds < 3; rewinds++) await store.redo();
  } catch (error) {
    expect(error).toMatchObject({ code: 'nothing-to-do' });
  } finally {
    store.close();
  }
}

async function closeAgain(world: World): Promise<void> {
  try {
    await closeTurn({ root: world.root, store: world.store, turn: 'three' });
  } catch (error) {
    // It was closed before the cut.
    if (!(error instanceof PreimageError && error.code === 'no-such-turn')) throw error;
  }
}

/** Rewinds a turn and expects what stood before it; before that, what stands now. */
async function expectBack(
  world: World,
  turn: string,
  expected: Look | undefined,
  now?: Look,
): Promise<void> {
  if (now !== undefined) expect(look(world)).toEqual(now);
  expect(await rewindTo(world, turn)).toEqual([]);
  expect(look(world)).toEqual(expected);
}

async function redo(world: World): Promise<void> {
  const store = openStore(world);
  expect(await store.redo()).toMatchObject({ complete: true });
  store.close();
}

function statusOf(world: World, turn: string): string {
  const store = openStore(world);
  try {
    return store.list().find((each) => each.turn === turn)?.status ?? 'none';
  } finally {
    store.close();
  }
}
