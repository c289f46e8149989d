import fs from 'node:fs';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { verifyStore, workspaceStatus } from '../../src/index.js';
import { tell } from '../support/soak.js';
import { COMMANDS, type Command } from './commands.js';
import { halfDone, leftovers } from './half-done.js';
import { type Blow, callsOf, strike } from './victim.js';
import type { World } from './world.js';

/*
 * SIGKILL at the numbered calls of each command, then a plain command, then everything is looked at by
 * other means than ours. `npm test` takes some of the calls, other ones each time; PREIMAGE_SOAK=1
 * takes every call in every way, PREIMAGE_SOAK=5 every fifth case. A failure names the case: PREIMAGE_CRASH_CASE='rewind:after:17' runs
 * that one alone.
 */

/** How many cases there are to one that is run; 0 for a sample. */
const SOAK = Number(process.env.PREIMAGE_SOAK ?? 0);
const ONLY = process.env.PREIMAGE_CRASH_CASE ?? '';
/** Cases of one command where not all are run. */
const SAMPLE = 3;
const MODES = ['before', 'after', 'half'] as const;

for (const command of COMMANDS) {
  if (ONLY !== '' && !ONLY.startsWith(`${command.name}:`)) continue;
  test(
    `${command.name}, killed at any call, loses nothing and can be done again`,
    async () => {
      const cases = await casesOf(command);
      for (const blow of cases) await underItsName(command, blow);
      if (SOAK > 0) console.log(`${command.name}: ${cases.length} kills, nothing lost`);
      tell(`kills at a call: ${command.name}`, { kills: cases.length, lost: 0 });
    },
    SOAK > 0 ? 4 * 60 * 60_000 : 180_000,
  );
}

async function casesOf(command: Command): Promise<Blow[]> {
  const [, mode = '', at = ''] = ONLY.split(':');
  const known = MODES.find((each) => each === mode);
  if (known !== undefined) return [{ mode: known, at: Number(at) }];
  const { world, program } = await command.prepare(1);
  const { calls } = await callsOf(world, program);
  const all = calls.flatMap(({ name }, i) =>
    MODES.filter((each) => each !== 'half' || /^write(File)?Sync$/.test(name)).map(
      (each): Blow => ({ mode: each, at: i + 1 }),
    ),
  );
  const step = SOAK > 0 ? SOAK : Math.max(1, Math.floor(all.length / SAMPLE));
  const offset = Date.now() % step;
  return all.filter((_, i) => i % step === offset);
}

async function underItsName(command: Command, blow: Blow): Promise<void> {
  const name = `${command.name}:${blow.mode}:${blow.at}`;
  try {
    await cutOff(command, blow);
  } catch (error) {
    if (error instanceof Error) error.message = `PREIMAGE_CRASH_CASE='${name}'\n${error.message}`;
    throw error;
  }
}

async function cutOff(command: Command, blow: Blow): Promise<void> {
  const scene = await command.prepare(blow.at);
  const { world } = scene;
  onTestFinished(() => {
    fs.rmSync(path.dirname(world.root), { recursive: true, force: true });
  });
  await strike(world, scene.program, blow);
  expect(halfDone(scene)).toEqual([]);
  await runPlainCommand(world, blow.at);
  expect(halfDone(scene)).toEqual([]);
  expect(leftovers(scene)).toEqual([]);
  await command.recovered(scene);
  expect(leftovers(scene)).toEqual([]);
  expect(verifyStore(world)).toMatchObject({ whole: true, findings: [] });
  fs.rmSync(path.dirname(world.root), { recursive: true, force: true });
}

/** Runs what a user may run next: the command line or the library, in turns. */
async function runPlainCommand(world: World, turn: number): Promise<void> {
  if (turn % 3 === 0) {
    expect(await strike(world, ['status'])).toMatchObject({ code: 0, stderr: '' });
  } else if (turn % 3 === 1) {
    await workspaceStatus(world);
  } else {
    expect(await strike(world, ['watch', '--no-watch', '--', 'true'])).toMatchObject({ code: 0 });
  }
}
