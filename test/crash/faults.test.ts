import fs from 'node:fs';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { verifyStore } from '../../src/index.js';
import type { Run } from '../support/cli.js';
import { tell } from '../support/soak.js';
import { COMMANDS, type Command, type Scene } from './commands.js';
import { ERRNOS, mayEndWith } from './errnos.mjs';
import { halfDone, leftovers } from './half-done.js';
import { type Blow, callsOf, strike } from './victim.js';
import { attributesOfWhich, look } from './world.js';

/*
 * The system's errors, injected at the numbered calls of each command: once, or at all later calls as
 * well. `npm test` takes some of the calls, other ones each time; PREIMAGE_SOAK=1 takes every case,
 * PREIMAGE_FAULTS=5 every fifth. A failure
 * names the case: PREIMAGE_FAULT_CASE='rewind:fail:17:ENOSPC' runs that one alone.
 */

/** How many cases there are to one that is run; 0 for a sample. */
const SOAK = Number(process.env.PREIMAGE_FAULTS ?? process.env.PREIMAGE_SOAK ?? 0);
const ONLY = process.env.PREIMAGE_FAULT_CASE ?? '';
/** Cases of one command where not all are run. */
const SAMPLE = 3;
const MODES = ['fail', 'fail-from'] as const;

/** What a command may end with; 1 only where it names what was left out. */
const DOCUMENTED = [0, 1, 4, 5];

for (const command of COMMANDS) {
  if (ONLY !== '' && !ONLY.startsWith(`${command.name}:`)) continue;
  test(
    `${command.name}, refused any call by the system, ends clearly and loses nothing`,
    async () => {
      const cases = await casesOf(command);
      for (const blow of cases) await underItsName(command, blow);
      if (SOAK > 0) console.log(`${command.name}: ${cases.length} faults, nothing lost`);
      tell(`faults injected: ${command.name}`, { faults: cases.length, lost: 0 });
    },
    SOAK > 0 ? 6 * 60 * 60_000 : 180_000,
  );
}

async function casesOf(command: Command): Promise<Blow[]> {
  const [, mode = '', at = '', errno = ''] = ONLY.split(':');
  const known = MODES.find((each) => each === mode);
  if (known !== undefined) return [{ mode: known, at: Number(at), errno }];
  const { world, program } = await command.prepare(1);
  const { calls } = await callsOf(world, program, { reads: true });
  const all = MODES.flatMap((each) =>
    calls.flatMap((call, i) =>
      ERRNOS.filter((errno) => mayEndWith(call, errno)).map(
        (errno): Blow => ({ mode: each, at: i + 1, errno }),
      ),
    ),
  );
  const step = SOAK > 0 ? SOAK : Math.max(1, Math.floor(all.length / SAMPLE));
  const offset = Date.now() % step;
  return all.filter((_, i) => i % step === offset);
}

async function underItsName(command: Command, blow: Blow): Promise<void> {
  const name = `${command.name}:${blow.mode}:${blow.at}:${blow.errno}`;
  try {
    await refuse(command, blow);
  } catch (error) {
    if (error instanceof Error) error.message = `PREIMAGE_FAULT_CASE='${name}'\n${error.message}`;
    throw error;
  }
}

async function refuse(command: Command, blow: Blow): Promise<void> {
  const scene = await command.prepare(blow.at);
  const { world, program } = scene;
  onTestFinished(() => {
    fs.rmSync(path.dirname(world.root), { recursive: true, force: true });
  });
  const run = await strike(world, program, blow, { reads: true });
  if (program === 'library') expectProblemOfTheLibrary(run);
  else expectClearEnd(run);
  expect(halfDone(scene)).toEqual([]);
  if (program !== 'library') expect(untold(scene, run)).toEqual([]);
  // What was refused is granted now: a plain command finishes what was begun.
  expect(await strike(world, ['status'])).toMatchObject({ code: 0, stderr: '' });
  await (command.finished ?? command.recovered)(scene);
  expect(leftovers(scene)).toEqual([]);
  expect(verifyStore(world)).toMatchObject({ whole: true, findings: [] });
  fs.rmSync(path.dirname(world.root), { recursive: true, force: true });
}

function expectClearEnd(run: Run): void {
  const { code, stdout, stderr } = run;
  // The whole of what it said is in the message: what happens once must be told by that once.
  expect(DOCUMENTED, `ended with ${code}\n${stdout}\n${stderr}`).toContain(code);
  expect(stderr).not.toMatch(/\n\s+at .*:\d+:\d+|Unexpected|please report/);
  if (code === 4 || code === 5) expect(stderr).toMatch(/^preimage: [A-Z].*\.\n {2}\S/s);
  if (code === 1) expect(stdout).toMatch(/failed|conflict|skipped|^not done: /m);
  // What was asked for is done; clearing up after it may wait.
  if (code === 0) expect(stderr).toMatch(MAY_WARN);
}

const MAY_WARN =
  /^(preimage: warning: (prune: [\w ,/-]+|extended attributes and ACLs could not be read: .*)\n)?$/;

function expectProblemOfTheLibrary({ code, stderr }: Run): void {
  if (code !== 0) expect(stderr).toMatch(/PreimageError: /);
}

/** Names what a command claims to have done and has not, or what it has touched without a word. */
function untold({ world, before, after }: Scene, { code, stdout }: Run): string[] {
  const now = look(world);
  const wrong: string[] = [];
  for (const name of Object.keys({ ...before, ...after })) {
    if (name === 'names of one file') continue;
    const allowed = code === 0 ? [after[name]] : [before[name], after[name]];
    if (allowed.includes(now[name])) continue;
    // An end with 4 says that some of it may be done: what is half done is seen by `halfDone`.
    const path = attributesOfWhich(name);
    const told =
      path === undefined
        ? new RegExp(`^(failed|conflict|skipped) +${escaped(name)}( |$)`, 'm').test(stdout)
        : // A note beside what was restored is a word on its attributes.
          new RegExp(`^(failed|conflict|skipped|restored) +${escaped(path)}  .`, 'm').test(stdout);
    if (!told && code !== 4) wrong.push(`${name} is ${now[name]}`);
  }
  return wrong;
}

function escaped(name: string): string {
  return name.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
