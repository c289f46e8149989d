import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Change } from '../../src/core/change.js';
import { compileRules, DEFAULT_RULES } from '../../src/core/rules.js';
import { NO_RUN_RULES } from '../../src/core/run-rules.js';
import { sharedWritableInodes } from '../../src/files/mappings.js';
import { closeStep } from '../../src/turn/close-step.js';
import { EarlyHasher } from '../../src/turn/early-hasher.js';
import { type OpenedStep, openStep } from '../../src/turn/open-step.js';
import { openWorkspace, type Workspace } from '../../src/turn/workspace.js';
import { sha256 } from '../support/scan.js';
import { temporary, tree } from '../support/tree.js';

/*
 * Stores through a shared mapping move a file's stamps only at the first fault of a page. These tests
 * need another process that maps a file: Python's mmap module. Where there is no Python on Linux the
 * one test that is left says so.
 */
const canMap =
  process.platform === 'linux' && spawnSync('python3', ['-c', 'import mmap']).status === 0;

const MAPPER = `
import mmap, sys
file = open(sys.argv[1], 'r+b')
view = mmap.mmap(file.fileno(), 0)
for line in sys.stdin:
    text = line.strip().encode()
    if text == b'close':
        view.close()
        file.close()
    else:
        view[:len(text)] = text
    print('done', flush=True)
`;

class Mapper {
  readonly #child: ChildProcess;

  constructor(path: string) {
    this.#child = spawn('python3', ['-c', MAPPER, path], { stdio: ['pipe', 'pipe', 'inherit'] });
    onTestFinished(() => {
      this.#child.kill();
    });
  }

  async say(line: string): Promise<void> {
    this.#child.stdin?.write(`${line}\n`);
    if (this.#child.stdout !== null) await once(this.#child.stdout, 'data');
  }
}

async function lab(): Promise<{
  workspace: Workspace;
  path: string;
  open: () => Promise<OpenedStep>;
}> {
  const base = temporary();
  const root = tree(join(base, 'ws'), { 'mapped.bin': '0000' });
  const workspace = openWorkspace({ root, store: join(base, 'store') });
  onTestFinished(() => {
    workspace.close();
  });
  const open = () =>
    openStep(workspace, {
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
  return { workspace, path: join(root, 'mapped.bin'), open };
}

async function close(workspace: Workspace): Promise<readonly Change[]> {
  const step = workspace.readLog().history.steps.at(-1);
  if (step?.kind !== 'work') throw new Error('no step');
  const options = { exitCode: 0, recovered: false, rules: NO_RUN_RULES, onProgress: () => {} };
  const closed = await closeStep(workspace, step, options);
  if (closed === 'gone') throw new Error('closed by somebody else');
  return closed.changes;
}

function hashOf(change: Change | undefined, side: 'before' | 'after'): string {
  const image = change?.[side];
  return image?.kind === 'content' && image.type === 'file' ? image.sha256 : 'no file';
}

if (canMap) {
  test('a store into pages that were dirty before the turn is captured', async () => {
    const { workspace, path, open } = await lab();
    const mapper = new Mapper(path);
    await mapper.say('1111');
    await open();
    await mapper.say('2222');
    await mapper.say('close');
    const [change] = await close(workspace);
    expect([hashOf(change, 'before'), hashOf(change, 'after')]).toEqual([
      sha256('1111'),
      sha256('2222'),
    ]);
  });

  test('a mapping is found among thousands of others in its process', async () => {
    const { path } = await lab();
    const other = join(temporary(), 'x'.repeat(200));
    fs.writeFileSync(other, 'private');
    const script = `
import mmap, sys
other = open(sys.argv[2], 'rb')
private = lambda n: [mmap.mmap(other.fileno(), 0, flags=mmap.MAP_PRIVATE) for _ in range(n)]
before = private(700)
file = open(sys.argv[1], 'r+b')
view = mmap.mmap(file.fileno(), 0)
after = private(700)
print('done', flush=True)
sys.stdin.read()
`;
    const child = spawn('python3', ['-c', script, path, other], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    onTestFinished(() => {
      child.kill();
    });
    await once(child.stdout, 'data');
    const maps = fs.readFileSync(`/proc/${child.pid}/maps`, 'latin1');
    expect(maps.length).toBeGreaterThan(300_000);
    const { ino } = fs.statSync(path, { bigint: true });
    expect(sharedWritableInodes().inodes).toContain(ino);
  });

  test('a store after the file was hashed early is captured', async () => {
    const { workspace, path, open } = await lab();
    const opened = await open();
    const mapper = new Mapper(path);
    await mapper.say('1111');
    const coverage = compileRules(DEFAULT_RULES);
    const hasher = new EarlyHasher({ layout: workspace.layout, control: opened.control, coverage });
    // The file's own tick of the clock must be over, so that only the mapping can make it racy.
    const stamp = fs.statSync(path, { bigint: true }).ctimeNs;
    const probe = `${path}.probe`;
    do fs.writeFileSync(probe, '');
    while (fs.statSync(probe, { bigint: true }).ctimeNs <= stamp);
    fs.rmSync(probe);
    hasher.note(['mapped.bin']);
    hasher.hashPending();
    await mapper.say('2222');
    await mapper.say('close');
    const changes = await close(workspace);
    expect(
      hashOf(
        changes.find(({ path: name }) => name === 'mapped.bin'),
        'after',
      ),
    ).toBe(sha256('2222'));
  });
} else {
  test('no process can be made to map a file here: there is no Python on this Linux', () => {
    expect(canMap).toBe(false);
  });
}
