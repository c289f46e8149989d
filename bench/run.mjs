// @ts-check
import fs from 'node:fs';
import os from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { runLarge } from './large.mjs';
import { describeMachine } from './machine.mjs';
import { Samples } from './measure.mjs';
import { runMillion } from './million.mjs';
import { Output } from './output.mjs';
import { runStandard } from './standard.mjs';
import { goalsTable } from './table.mjs';
import { SMALL } from './trees.mjs';

const { values: options } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    large: { type: 'boolean', default: false },
    million: { type: 'boolean', default: false },
    all: { type: 'boolean', default: false },
    keep: { type: 'boolean', default: false },
    quick: { type: 'boolean', default: false },
    rounds: { type: 'string', default: '3' },
    help: { type: 'boolean', default: false },
  },
});
const HELP = `npm run bench -- [--quick | --large | --million | --all] [--rounds N] [--json] [--keep]

Measures preimage beside git, copies, backups and an eager store, on the same trees.
  --quick     a tree of ${SMALL.files} files only, about a minute
  --large     a whole node_modules of about 105,000 files instead
  --million   a million files instead, preimage alone
  --all       everything, one after the other
  --rounds N  medians over N rounds (3)
  --json      every figure as JSON on standard output
  --keep      leaves what was made, and says where`;
const ROUNDS = Math.max(1, Number(options.rounds) || 3);

/**
 * The parts of a run, and what each needs at most, of disk. The largest come last: what they write
 * would disturb the others.
 */
const PARTS = [
  {
    run: runStandard,
    wanted: options.all || !(options.large || options.million),
    bytes: options.quick ? 1e9 : 5e9 * ROUNDS,
  },
  { run: runLarge, wanted: options.all || options.large, bytes: 1e9 + 4.5e9 * ROUNDS },
  { run: runMillion, wanted: options.all || options.million, bytes: 8e9 },
].filter(({ wanted }) => wanted);

if (options.help) console.log(HELP);
else await main();

async function main() {
  const output = new Output(options.json);
  const directory = fs.mkdtempSync(join(os.tmpdir(), 'preimage-bench-'));
  try {
    await bench(directory, output);
  } finally {
    // Not before: see `rounds.mjs`.
    output.say(options.keep ? `left: ${directory}` : 'removing what was made');
    if (!options.keep) fs.rmSync(directory, { recursive: true, force: true });
  }
}

/** @param {string} directory @param {Output} output */
async function bench(directory, output) {
  const { bavail, bsize } = fs.statfsSync(directory);
  const needed = PARTS.reduce((sum, { bytes }) => sum + bytes, 0);
  if (bavail * bsize < needed) {
    throw new Error(`${os.tmpdir()} has under ${needed / 1e9} GB free; set TMPDIR.`);
  }
  for (const name of Object.keys(process.env)) {
    if (name.startsWith('PREIMAGE_')) delete process.env[name];
  }
  const machine = describeMachine(directory);
  const lines = Object.entries(machine).map(([name, value]) => `- ${name}: ${value}`);
  output.print(`## Machine\n\n${lines.join('\n')}`);
  const samples = new Samples();
  const verdicts = [];
  for (const part of PARTS) {
    const run = { directory, samples, rounds: ROUNDS, quick: options.quick, output };
    verdicts.push(...(await part.run(run)));
  }
  output.print('## Goals\n', goalsTable(verdicts));
  if (!options.json) return;
  const goals = verdicts.map(({ goal: { value: _, ...goal }, ...verdict }) => ({
    ...goal,
    ...verdict,
  }));
  console.log(JSON.stringify({ machine, goals, figures: samples.all() }, null, 2));
}
