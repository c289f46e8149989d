import fs from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { compileRules, DEFAULT_RULES } from '../../src/core/rules.js';
import { NO_RUN_RULES } from '../../src/core/run-rules.js';
import { closeStep } from '../../src/turn/close-step.js';
import { EarlyHasher } from '../../src/turn/early-hasher.js';
import { openStep } from '../../src/turn/open-step.js';
import { openWorkspace } from '../../src/turn/workspace.js';
import { sha256 } from '../support/scan.js';
import { temporary, tree } from '../support/tree.js';

afterEach(() => {
  vi.restoreAllMocks();
});

/** Runs a turn that edits two files, hashes both early, and then does what `later` does. */
async function turn(later: (root: string) => void) {
  const base = temporary();
  const root = tree(join(base, 'ws'), { 'a.txt': 'old', 'b.txt': 'old' });
  const workspace = openWorkspace({ root, store: join(base, 'store') });
  const opened = await openStep(workspace, {
    turn: 'next',
    label: '',
    kind: 'library',
    command: [],
    rules: DEFAULT_RULES,
    owned: true,
    watcher: 'none',
    budget: 'none',
    onProgress: () => {},
  });
  tree(root, { 'a.txt': 'new a', 'b.txt': 'new b' });
  // Only what is older than the file system's present tick can be trusted.
  const newest = fs.statSync(join(root, 'b.txt'), { bigint: true }).ctimeNs;
  const probe = join(base, 'probe');
  do fs.writeFileSync(probe, '');
  while (fs.statSync(probe, { bigint: true }).ctimeNs <= newest);
  const coverage = compileRules(DEFAULT_RULES);
  const hasher = new EarlyHasher({ layout: workspace.layout, control: opened.control, coverage });
  hasher.note(['a.txt', 'b.txt']);
  hasher.hashPending();
  later(root);
  const read: string[] = [];
  const { openSync } = fs;
  vi.spyOn(fs, 'openSync').mockImplementation((path, ...rest) => {
    if (String(path).startsWith(`${root}/`)) read.push(String(path).slice(root.length + 1));
    return openSync(path, ...rest);
  });
  const step = workspace.readLog().history.steps[0];
  if (step?.kind !== 'work') throw new Error('no step');
  const options = { exitCode: 0, recovered: false, rules: NO_RUN_RULES, onProgress: () => {} };
  const closed = await closeStep(workspace, step, options);
  if (closed === 'gone') throw new Error('closed by somebody else');
  const after = closed.changes.map(({ path, after: image }) => [
    path,
    image.kind === 'content' && image.type === 'file' ? image.sha256 : image.kind,
  ]);
  const contents = ['new a', 'new b'].map((text) => workspace.packs.read(sha256(text)).toString());
  workspace.close();
  return { read, after, contents };
}

test('what was hashed while the command ran is not read again at the close', async () => {
  const { read, after, contents } = await turn(() => {});
  expect(read).toEqual([]);
  expect(after).toEqual([
    ['a.txt', sha256('new a')],
    ['b.txt', sha256('new b')],
  ]);
  expect(contents).toEqual(['new a', 'new b']);
});

test('a file that changed after it was hashed early is read again', async () => {
  const { read, after } = await turn((root) => {
    fs.writeFileSync(join(root, 'a.txt'), 'NEW A');
  });
  expect(read).toEqual(['a.txt']);
  expect(after).toEqual([
    ['a.txt', sha256('NEW A')],
    ['b.txt', sha256('new b')],
  ]);
});
