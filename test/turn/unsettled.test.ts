import fs from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { lab } from '../support/cli.js';
import { tree } from '../support/tree.js';

test('a process that is left running is noticed, and what it still writes to is named', async () => {
  const it = lab();
  tree(it.root, { busy: 'old', 'a.txt': 'old' });
  onTestFinished(() => {
    process.kill(Number(fs.readFileSync(join(it.root, '..', 'pid'), 'utf8')), 'SIGKILL');
  });
  const busy = '(while :; do echo x >> busy; done) >/dev/null 2>&1 & echo $! > ../pid';
  const run = await it.turn(`${busy}; echo new > a.txt`);
  expect(run.stderr).toContain('warning: busy is still written to: a process was left running');
  expect(await it.json(['show', 't1'])).toMatchObject({
    steps: [{ unsettled: [{ path: 'busy' }] }],
    files: [{ path: 'a.txt' }, { path: 'busy' }],
  });
  expect((await it.run(['show', 't1'])).stdout).toContain('still written to when it closed: busy');
});

test('a command that leaves nothing behind is settled, however much it wrote', async () => {
  const it = lab();
  tree(it.root, { 'a.txt': 'old' });
  const run = await it.turn('for i in $(seq 500); do echo $i > $i; done; rm 7; echo > a.txt');
  expect(run.stderr).not.toContain('still written to');
  const { steps } = await it.json<{ steps: object[] }>(['show', 't1']);
  expect(steps).toHaveLength(1);
  expect(steps[0]).not.toHaveProperty('unsettled');
});
