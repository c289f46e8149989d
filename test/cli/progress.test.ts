import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { CLI, type Lab, lab } from '../support/cli.js';
import { TERMINALS, testWith } from '../support/machine.js';
import { tree } from '../support/tree.js';
import { onTerminal } from './terminal.js';

/** Makes every run with some entries one that takes over a second. */
const FAST_CLOCK = ['--import', fileURLToPath(new URL('./fast-clock.mjs', import.meta.url))];
const CLEARED = '\r\u001b[K';
const MANY = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`${i}.txt`, `old ${i}`]));

testWith([TERMINALS], 'an open of over a second shows on a terminal how far it is', async () => {
  const it = lab();
  tree(it.root, MANY);
  const { output, code } = await played(it, FAST_CLOCK, 'open', '--turn', 'one', '--no-watch');
  expect(code).toBe(0);
  expect(linesOf(output).slice(0, -1)).toEqual(
    expect.arrayContaining([
      expect.stringMatching(/^preimage: \d+ entries, [\d.]+ k?B looked at$/),
    ]),
  );
  // The line is gone again before anything else is said.
  expect(linesOf(output).at(-1)).not.toMatch(/entries/);
});

testWith(
  [TERMINALS],
  'a later open tells how much of what was met before, and when it ends',
  async () => {
    const it = lab();
    tree(it.root, Object.fromEntries(Object.keys(MANY).map((name) => [name, { file: 'old' }])));
    await it.turn('true', '--no-watch');
    const { output, code } = await played(it, FAST_CLOCK, 'open', '--turn', 'one', '--no-watch');
    expect(code).toBe(0);
    const shown = linesOf(output).filter((line) => line.startsWith('preimage: '));
    const whole = /^preimage: \d+ of 201 entries, [\d.]+ k?B looked at(, \d+ s left)?$/;
    // The last is no longer on the way.
    for (const line of shown.slice(0, -1)) expect(line).toMatch(whole);
    expect(shown.length).toBeGreaterThan(5);
    expect(shown.some((line) => line.includes('left'))).toBe(true);
  },
);

testWith(
  [TERMINALS],
  'with a budget the copying is told with its rate and the time left',
  async () => {
    const it = lab();
    const big = Object.fromEntries(
      Object.keys(MANY).map((name) => [name, Buffer.alloc(64 * 1024)]),
    );
    tree(it.root, big);
    const args = ['open', '--turn', 'one', '--no-watch', '--budget', '1h'];
    const { output, code } = await played(it, FAST_CLOCK, ...args);
    expect(code).toBe(0);
    const shown = linesOf(output).filter((line) => line.includes('copied'));
    expect(shown).toEqual(
      expect.arrayContaining([
        expect.stringMatching(
          /^preimage: \d+ of \d+ files copied, [\d.]+ [KM]B of [\d.]+ MB, [\d.]+ [KM]B\/s, \d+ s left$/,
        ),
      ]),
    );
    // Nothing is said of the end before something is known of it.
    expect(shown[0]).not.toContain('left');
    const done = shown.map((line) => Number(/ (\d+) of/.exec(line)?.[1]));
    expect(done).toEqual(done.toSorted((a, b) => a - b));
    expect(linesOf(output).at(-1)).not.toContain('copied');
  },
);

testWith([TERMINALS], 'a rewind of over a second shows how far it is, up to its end', async () => {
  const it = lab();
  tree(it.root, MANY);
  await it.turn('for f in *; do echo new > "$f"; done', '--no-watch');
  const { output, code } = await played(it, FAST_CLOCK, 'rewind');
  expect(code).toBe(0);
  const shown = linesOf(output).flatMap(
    (line) => /^preimage: (\d+)% rewound(?:, \d+ s left)?$/.exec(line)?.[1] ?? [],
  );
  expect(shown.length).toBeGreaterThan(5);
  expect(output).toMatch(/% rewound, \d+ s left/);
  expect(shown.map(Number)).toEqual(shown.map(Number).sort((a, b) => a - b));
  expect(linesOf(output).at(-1)).not.toMatch(/% rewound/);
  expect(output).toContain('100 restored');
});

testWith([TERMINALS], 'what is over within a second shows no progress', async () => {
  const it = lab();
  tree(it.root, MANY);
  const { output } = await played(it, [], 'open', '--turn', 'one', '--no-watch');
  expect(output).not.toContain('looked at');
  expect(output).not.toContain(CLEARED);
});

testWith(
  [TERMINALS],
  'where stderr is no terminal nothing is shown, however long it takes',
  async () => {
    const it = lab();
    tree(it.root, MANY);
    const script = `"$0" "$@" 2>err; cat err`;
    const argv = [process.execPath, ...FAST_CLOCK, CLI, 'open', '--turn', 'one', '--no-watch'];
    const { output, code } = await onTerminal(it, ['sh', '-c', script, ...argv], []);
    expect(code).toBe(0);
    expect(output).not.toContain('looked at');
    expect(output).not.toContain(CLEARED);
  },
);

function played(it: Lab, node: readonly string[], ...args: string[]) {
  return onTerminal(it, [process.execPath, ...node, CLI, ...args], []);
}

/** What each writing of the line showed; the last is what is left of it, and all that follows. */
function linesOf(output: string): string[] {
  expect(output).toContain(CLEARED);
  return output.split(/\r(?!\n)/).map((piece) => piece.replaceAll('\u001b[K', ''));
}
