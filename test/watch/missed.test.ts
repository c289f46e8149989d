import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { runProcess } from '../support/cli.js';
import { command, testWith } from '../support/machine.js';
import { inSoak } from '../support/soak.js';
import { type Snapshot, snapshot, symlink, temporary, tree } from '../support/tree.js';

/*
 * What watchers are known to miss. Whatever they miss, the list of changes is exact, and the timeline
 * is either complete (each change has an event of its path, or of a directory above that came or went)
 * or says why it is not.
 */

/** What happens, in a shell, and what stands before it. */
type Case = {
  readonly before?: (root: string) => void;
  readonly script: string;
  /** Too many entries for a watch each. */
  readonly large?: boolean;
  /** A program that it is done with. */
  readonly needs?: string;
};

const MANY = inSoak(200_000, 3_000);
const MOST_FOR_CHOKIDAR = 20_000;
const DIRECTORIES = inSoak(10_000, 1_000);

const CASES: Record<string, Case> = {
  'directories made one in the other, and a file in the last': {
    script: 'mkdir -p a/b/c/d && echo made > a/b/c/d/f',
  },
  'a tree that is moved in from outside': {
    before: (root) => {
      tree(join(root, '../outside'), { x: { 'y.txt': 'y', z: { 'w.txt': 'w' } } });
    },
    script: 'mv ../outside in && echo >> in/x/y.txt',
  },
  'a tree that is moved out': { script: 'mv dir ../away' },
  'directories that are renamed, and written to under the new name': {
    script: 'mv dir renamed && echo new > renamed/a.txt && mv renamed dir2 && rm dir2/sub/b.txt',
  },
  'a great many files that are made': {
    script: `mkdir many && cd many && seq ${MANY} | xargs -n 2000 touch`,
    large: true,
  },
  'the removal of a great many directories': {
    before: (root) => {
      for (let i = 0; i < DIRECTORIES; i++) {
        fs.mkdirSync(join(root, `many/${i % 100}/${i}`), { recursive: true });
      }
    },
    script: 'rm -rf many',
    large: true,
  },
  'a file that is written through its other name': { script: 'echo more >> alias' },
  'a store through a mapping': {
    script:
      'python3 -c \'import mmap,os; f=os.open("a.txt",os.O_RDWR); ' +
      'm=mmap.mmap(f,3); m[0:3]=b"map"; m.close()\'',
    needs: 'python3',
  },
  'permission bits alone': { script: 'chmod 700 a.txt dir/sub; chmod 600 dir/a.txt' },
  'the same bytes written back': { script: 'cat a.txt > ../t; echo x > a.txt; cat ../t > a.txt' },
  'replaced by a rename': { script: 'echo new > .new && mv .new a.txt' },
  'came and went': { script: 'mkdir tmp; echo > tmp/f; rm -r tmp; echo > b.txt; rm b.txt' },
  'links, pipes and what stood in their place': {
    script: 'rm link; mkfifo link; rm -r dir; ln -s a.txt dir; rm a.txt; mkdir a.txt',
  },
};

describe.each(['parcel', 'chokidar'] as const)('%s', (watcher) => {
  for (const [name, { before, script, large, needs }] of Object.entries(CASES)) {
    // One watch a file: beyond 20,000 entries it steps back by itself, see choose.test.ts.
    if (large === true && watcher === 'chokidar' && MANY > MOST_FOR_CHOKIDAR) continue;
    testWith(
      needs === undefined ? [] : [command(needs)],
      name,
      async () => {
        const at = workspace();
        before?.(at.root);
        await there(at, watcher, script);
      },
      inSoak(300_000, 60_000),
    );
  }

  test('the root deleted and made anew', async () => {
    const at = workspace();
    const script = `cd ..; rm -rf '${at.root}'; mkdir '${at.root}'; echo new > '${at.root}/new'`;
    expect(await there(at, watcher, script)).toMatchObject({ complete: false });
  });
});

type At = { readonly root: string; readonly store: string };

function workspace(): At {
  const base = temporary('preimage-missed');
  const root = tree(join(base, 'ws'), {
    'a.txt': 'old',
    aliased: 'old',
    dir: { 'a.txt': 'old', sub: { 'b.txt': 'old' } },
    link: symlink('a.txt'),
  });
  fs.linkSync(join(root, 'aliased'), join(root, 'alias'));
  return { root, store: join(base, 'store') };
}

async function there(at: At, watcher: 'parcel' | 'chokidar', script: string): Promise<Timeline> {
  const before = snapshot(at.root);
  await call('open', at, watcher);
  const ran = spawnSync('sh', ['-ec', script], { cwd: at.root, encoding: 'utf8' });
  expect(ran).toMatchObject({ status: 0, stderr: '' });
  const after = snapshot(at.root);
  const closed: Closed = JSON.parse(await call('close', at));
  expect(closed.paths.map((path) => path || '.').sort()).toEqual(changedPaths(before, after));
  const { complete, reason } = closed.timeline;
  expect(closed.timeline.watcher).toBe(watcher);
  if (complete) {
    const told = closed.events.map(({ path }) => path);
    const covers = (path: string): boolean =>
      told.some((each) => each === path || path.startsWith(`${each}/`));
    expect(closed.paths.filter((path) => path !== '' && !covers(path))).toEqual([]);
  } else expect(reason).not.toBe('');
  return closed.timeline;
}

type Timeline = { readonly complete: boolean; readonly reason: string; readonly watcher: string };
type Closed = {
  readonly paths: readonly string[];
  readonly timeline: Timeline;
  readonly events: readonly { readonly path: string }[];
};

const PROGRAM = fileURLToPath(new URL('turn-program.mjs', import.meta.url));

async function call(act: 'open' | 'close', { root, store }: At, watcher = ''): Promise<string> {
  const args = [PROGRAM, act, root, store, watcher];
  // The step's files may be gone with the directory that it stands in.
  const { code, stdout, stderr } = await runProcess(process.execPath, args, {
    cwd: os.tmpdir(),
    env: process.env,
  });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return stdout;
}

function changedPaths(before: Snapshot, after: Snapshot): string[] {
  const paths = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...paths].filter((path) => before[path] !== after[path]).sort();
}
