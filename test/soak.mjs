// Runs the long forms of the tests that look for what is rare, and prints what was tried:
// `npm run soak`, or `npm run soak -- 500` for so many lives of the model test instead of 2,000. Of the
// injected faults it takes every tenth; `PREIMAGE_FAULTS=1` in the environment takes all (hours).
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const SOAKED = [
  ...['test/model', 'test/contain', 'test/many', 'test/crash', 'test/turn/verify.test.ts'],
  ...['test/real/stress.test.ts', 'test/watch/missed.test.ts'],
];

const root = fileURLToPath(new URL('..', import.meta.url));
const temporary = fs.mkdtempSync(path.join(os.tmpdir(), 'preimage-soak-'));
const file = path.join(temporary, 'figures');
fs.writeFileSync(file, '');
const [lives] = process.argv.slice(2);
const env = {
  ...process.env,
  PREIMAGE_SOAK: '1',
  PREIMAGE_FAULTS: process.env.PREIMAGE_FAULTS ?? '10',
  PREIMAGE_FLIPS: process.env.PREIMAGE_FLIPS ?? '2000',
  PREIMAGE_FIGURES: file,
  ...(lives === undefined ? {} : { PREIMAGE_LIVES: lives }),
};
const vitest = path.join(root, 'node_modules', 'vitest', 'vitest.mjs');
const started = Date.now();
const child = spawn(process.execPath, [vitest, 'run', ...SOAKED], {
  cwd: root,
  env,
  stdio: 'inherit',
});
child.on('close', (code, signal) => {
  const lines = fs.readFileSync(file, 'utf8').split('\n').filter(Boolean);
  fs.rmSync(temporary, { recursive: true });
  const rows = lines.map((line) => JSON.parse(line)).sort((a, b) => a.what.localeCompare(b.what));
  const width = Math.max(...rows.map(({ what }) => what.length), 0);
  process.stdout.write(`\nTried in ${Math.round((Date.now() - started) / 1000)} s:\n`);
  for (const { what, figures } of rows) {
    const cells = Object.entries(figures).map(
      ([name, count]) => `${name} ${count.toLocaleString('en')}`,
    );
    process.stdout.write(`  ${what.padEnd(width)}  ${cells.join(', ')}\n`);
  }
  process.stdout.write(
    code === 0 ? '  nothing lost\n' : `  not finished: ${signal ?? 'see above'}\n`,
  );
  process.exitCode = code ?? 1;
});
