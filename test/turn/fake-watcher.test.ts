import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Change } from '../../src/core/change.js';
import { fromText } from '../../src/core/relpath.js';
import { compileRules, DEFAULT_RULES } from '../../src/core/rules.js';
import { NO_RUN_RULES } from '../../src/core/run-rules.js';
import { ownIdentity } from '../../src/files/process-identity.js';
import { SpoolWriter } from '../../src/store/spool.js';
import { closeStep } from '../../src/turn/close-step.js';
import type { HostLine } from '../../src/turn/control.js';
import { EarlyHasher } from '../../src/turn/early-hasher.js';
import { openStep } from '../../src/turn/open-step.js';
import { openWorkspace } from '../../src/turn/workspace.js';
import { symlink, temporary, tree } from '../support/tree.js';

/** What a fake watcher does with the paths that truly changed. */
type Fake = {
  /** Which of the true events are told; more may be made up. */
  readonly tell: (paths: readonly string[]) => readonly string[];
  readonly cookie: boolean;
  readonly alive: boolean;
  /** What the timeline must say: `complete`, or a word of why not. */
  readonly timeline: string;
};

const FAKES: Record<string, Fake> = {
  'tells everything': { tell: (paths) => paths, cookie: true, alive: true, timeline: 'complete' },
  'drops half of the events': {
    tell: (paths) => paths.filter((_, i) => i % 2 === 0),
    cookie: true,
    alive: true,
    timeline: 'no event',
  },
  'drops all events': { tell: () => [], cookie: true, alive: true, timeline: 'no event' },
  'lies about paths': {
    tell: () => ['keep.txt', 'never/was', '../outside', '/etc/passwd', 'link/x'],
    cookie: true,
    alive: true,
    timeline: 'no event',
  },
  hangs: { tell: (paths) => paths, cookie: false, alive: true, timeline: 'did not answer' },
  dies: { tell: (paths) => paths.slice(0, 1), cookie: false, alive: false, timeline: 'gone' },
};

const TRUE_CHANGES = ['dir', 'dir/gone.txt', 'edited.txt', 'fresh', 'fresh/new.txt', 'link'];

/** Runs one turn with a fake in the place of the watcher host. */
async function turnWith(fake: Fake) {
  const base = temporary();
  const root = tree(join(base, 'ws'), {
    'keep.txt': 'kept',
    'edited.txt': 'old',
    dir: { 'gone.txt': 'x' },
    link: symlink('keep.txt'),
  });
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
  const host = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
  await once(host, 'spawn');
  const say = (line: HostLine) => {
    const spool = new SpoolWriter(opened.control.events);
    spool.append([line]);
    spool.close();
  };
  say({ t: 'host', identity: { ...ownIdentity(), pid: host.pid ?? 0, start: '' } });
  say({ t: 'ready', watcher: 'parcel' });

  fs.writeFileSync(join(root, 'edited.txt'), 'new');
  fs.rmSync(join(root, 'dir'), { recursive: true });
  fs.mkdirSync(join(root, 'fresh'));
  fs.writeFileSync(join(root, 'fresh/new.txt'), 'made');
  fs.rmSync(join(root, 'link'));
  fs.symlinkSync('edited.txt', join(root, 'link'));

  const told = fake.tell(TRUE_CHANGES);
  for (const path of told) {
    const event = fs.existsSync(join(root, path)) ? 'create' : 'delete';
    say({ t: 'event', at: Date.now(), event, path });
  }
  const coverage = compileRules(DEFAULT_RULES);
  const hasher = new EarlyHasher({ layout: workspace.layout, control: opened.control, coverage });
  hasher.note(told);
  hasher.hashPending();
  if (fake.cookie) say({ t: 'cookie', name: 'closing-1' });
  if (!fake.alive) {
    host.kill('SIGKILL');
    await once(host, 'exit');
  }
  // As a step that had a watcher when it opened.
  const step = workspace.readLog().history.steps[0];
  if (step?.kind !== 'work') throw new Error('no step');
  const closed = await closeStep(
    workspace,
    { ...step, open: { ...step.open, watcher: 'parcel' } },
    { exitCode: 0, recovered: false, rules: NO_RUN_RULES, onProgress: () => {} },
  );
  host.kill('SIGKILL');
  workspace.close();
  if (closed === 'gone') throw new Error('closed by somebody else');
  return closed;
}

/** What must be the same whatever the watcher did. */
function essence(changes: readonly Change[]): unknown[] {
  return changes.map(({ path, before, after }) => {
    const bare = (image: Change['before']) =>
      image.kind === 'content' && image.type === 'file' ? { ...image, mtimeNs: 0n } : image;
    return { path, before: bare(before), after: bare(after) };
  });
}

test.each(Object.entries(FAKES))('a watcher that %s alters no list of changes', async (_, fake) => {
  const truth = await turnWith(FAKES['tells everything'] ?? fake);
  const { record, changes } = await turnWith(fake);
  expect(changes.map(({ path }) => path)).toEqual(TRUE_CHANGES.map(fromText));
  expect(essence(changes)).toEqual(essence(truth.changes));
  expect(record.timeline.complete).toBe(fake.timeline === 'complete');
  if (fake.timeline !== 'complete') expect(record.timeline.reason).toContain(fake.timeline);
});
