import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { expect, vi } from 'vitest';
import { command, testWith } from '../support/machine.js';
import { sha256 } from '../support/scan.js';
import { temporary, tree } from '../support/tree.js';
import { WATCHMAN, watchman } from '../support/watchman.js';
import { Watched } from './workspace.js';

const TREE = {
  'a.txt': 'a',
  'b.txt': 'b',
  src: { 'one.js': '1', 'two.js': '2', deep: { er: { 'three.js': '3' } } },
  other: { 'one.js': 'x', 'two.js': 'y', deep: { 'four.js': '4' } },
  ignored: { 'seen.js': 's', below: { 'five.js': '5' } },
  '.watchmanconfig': '{ "ignore_dirs": ["ignored"] }',
  empty: {},
};

/** What may happen between two turns, by anybody. */
const CHANGES: Record<string, (at: (relative: string) => string) => void> = {
  nothing: () => {},
  'a file is created': (at) => fs.writeFileSync(at('src/deep/new.js'), 'new'),
  'a file is written in place, of the same size and with its old time': (at) => {
    const { atime, mtime } = fs.statSync(at('src/deep/er/three.js'));
    fs.writeFileSync(at('src/deep/er/three.js'), '4');
    fs.utimesSync(at('src/deep/er/three.js'), atime, mtime);
  },
  'a file is appended to': (at) => fs.appendFileSync(at('a.txt'), 'more'),
  'a file is deleted': (at) => fs.rmSync(at('src/two.js')),
  'a file is renamed': (at) => fs.renameSync(at('src/two.js'), at('src/2.js')),
  'a file is replaced by a rename': (at) => {
    fs.writeFileSync(at('src/tmp'), 'other');
    fs.renameSync(at('src/tmp'), at('src/deep/er/three.js'));
  },
  'two files change places': (at) => {
    fs.renameSync(at('src/one.js'), at('tmp'));
    fs.renameSync(at('other/one.js'), at('src/one.js'));
    fs.renameSync(at('tmp'), at('other/one.js'));
  },
  'modes change': (at) => {
    fs.chmodSync(at('src/deep/er/three.js'), 0o755);
    fs.chmodSync(at('src/deep'), 0o700);
  },
  'two directories change places': (at) => {
    fs.renameSync(at('src'), at('tmp'));
    fs.renameSync(at('other'), at('src'));
    fs.renameSync(at('tmp'), at('other'));
  },
  'a directory is renamed and written into': (at) => {
    fs.renameSync(at('src'), at('lib'));
    fs.writeFileSync(at('lib/deep/er/three.js'), 'after the rename');
  },
  'a directory is deleted': (at) => fs.rmSync(at('src'), { recursive: true }),
  'a directory is emptied and filled again with other files': (at) => {
    fs.rmSync(at('src'), { recursive: true });
    tree(at('src'), { 'one.js': 'other', deep: { er: { 'three.js': 'other' } } });
  },
  'a file becomes a directory and a directory a file': (at) => {
    fs.rmSync(at('a.txt'));
    tree(at('a.txt'), { x: 'x' });
    fs.rmSync(at('src/deep'), { recursive: true });
    fs.writeFileSync(at('src/deep'), 'now a file');
  },
  'directories are made one in another and filled at once': (at) => {
    for (let i = 0; i < 20; i++) {
      fs.mkdirSync(at(`new/${i}/a/b/c`), { recursive: true });
      fs.writeFileSync(at(`new/${i}/a/b/c/file`), String(i));
    }
  },
  'a link is made, and one is turned': (at) => {
    fs.symlinkSync('src/one.js', at('link'));
    fs.rmSync(at('b.txt'));
    fs.symlinkSync('a.txt', at('b.txt'));
  },
  'a file gets a second name and is written through that': (at) => {
    fs.linkSync(at('src/deep/er/three.js'), at('other/name'));
    fs.appendFileSync(at('other/name'), 'through the other name');
  },
  'what watchman is told to leave out changes': (at) => {
    fs.writeFileSync(at('ignored/below/five.js'), 'changed');
    fs.writeFileSync(at('ignored/seen.js'), 'changed');
    fs.writeFileSync(at('ignored/new.js'), 'new');
  },
  'names come that are no UTF-8': (at) => {
    for (const name of ['caf\xe9', '\xff\xfe', 'new\nline\ttab', 'quote"back\\slash']) {
      const bytes = Buffer.from(`/${name}`, 'latin1');
      fs.writeFileSync(Buffer.concat([Buffer.from(at('src')), bytes]), name);
    }
    fs.writeFileSync(at('grüße 😀'), 'x');
  },
  'a file comes and goes': (at) => {
    fs.writeFileSync(at('src/tmp'), 'x');
    fs.rmSync(at('src/tmp'));
  },
};

for (const [title, change] of Object.entries(CHANGES)) {
  testWith([WATCHMAN], `opens right through watchman after this: ${title}`, async () => {
    await watchman();
    const ws = new Watched(TREE);
    await ws.settle();
    const { named, reason } = await ws.opensRightAfter(() => change((name) => ws.at(name)));
    expect(reason).toBe('');
    expect(named).not.toBeNull();
  });
}

testWith([WATCHMAN], 'sees a file with a name that is no UTF-8 written in place', async () => {
  await watchman();
  const ws = new Watched(TREE);
  const name = Buffer.concat([Buffer.from(ws.at('src/')), Buffer.from('caf\xe9', 'latin1')]);
  fs.writeFileSync(name, 'old');
  await ws.settle();
  const { named, reason } = await ws.opensRightAfter(() => fs.writeFileSync(name, 'new'));
  expect({ named, reason }).toEqual({ named: 1, reason: '' });
});

testWith([WATCHMAN, command('git')], 'looks at all of .git by itself', async () => {
  await watchman();
  const ws = new Watched(TREE);
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=x', '-c', 'user.email=x@y', ...args], {
      cwd: ws.root,
      stdio: 'ignore',
    });
  git('init');
  git('add', '.');
  git('commit', '-m', 'one');
  await ws.settle();
  const { named } = await ws.opensRightAfter(() => {
    git('branch', 'deep/branch');
    // In place and of the same size: by no directory can this be seen.
    const at = ws.at('.git/refs/heads/deep/branch');
    fs.writeFileSync(at, fs.readFileSync(at, 'utf8').replaceAll(/[0-9]/g, '0'));
    fs.writeFileSync(ws.at('.git/info/exclude'), '# other');
  });
  expect(named).not.toBeNull();
});

testWith([WATCHMAN], 'asks for a workspace below a project that watchman watches', async () => {
  const server = await watchman();
  const base = temporary();
  tree(base, { '.watchmanconfig': '{ "ignore_dirs": ["ws/ignored"] }' });
  const { '.watchmanconfig': _, ...rest } = TREE;
  const ws = new Watched(rest, base);
  server.tell('watch-project', ws.root);
  await ws.settle();
  const { named } = await ws.opensRightAfter(() => {
    fs.appendFileSync(ws.at('src/one.js'), 'more');
    fs.appendFileSync(ws.at('ignored/below/five.js'), 'more');
    fs.writeFileSync(path.join(base, 'outside'), 'x');
  });
  expect(named).toBe(1);
});

testWith([WATCHMAN], 'looks at the named files and at no other', async () => {
  await watchman();
  const files = Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`${i}.txt`, `${i}`]));
  const ws = new Watched({ src: { deep: files } });
  await ws.settle();
  fs.appendFileSync(ws.at('src/deep/7.txt'), 'more');
  const looks = vi.spyOn(fs, 'lstatSync');
  const turn = await ws.open();
  const seen = looks.mock.calls.map(([name]) => path.basename(String(name)));
  looks.mockRestore();
  await turn.close();
  const files40 = seen.filter((name) => /^[0-9]+\.txt$/.test(name));
  expect(ws.how().named).toBe(1);
  // And at the 2% whose turn it is.
  expect(new Set(files40).size).toBeLessThanOrEqual(2);
  expect(files40).toContain('7.txt');
});

testWith([WATCHMAN], 'never finds watchman’s own cookies', async () => {
  await watchman();
  const ws = new Watched(TREE);
  for (let turns = 0; turns < 25; turns++) {
    const turn = await ws.open();
    expect(ws.wrong()).toEqual([]);
    expect((await turn.close()).changes).toEqual([]);
  }
});

testWith([WATCHMAN], 'asks from a newer clock once the names have become many', async () => {
  await watchman();
  const ws = new Watched(TREE);
  await ws.settle();
  // Nothing differs in the end, so no turn has a reason of its own to write a manifest.
  for (let i = 0; i < 1200; i++) fs.writeFileSync(ws.at(`src/tmp-${i}`), 'x');
  for (let i = 0; i < 1200; i++) fs.rmSync(ws.at(`src/tmp-${i}`));
  await (await ws.open()).close();
  expect(ws.how().named).toBeGreaterThanOrEqual(1200);
  await (await ws.open()).close();
  expect(ws.how().named).toBeLessThan(100);
  expect(ws.wrong()).toEqual([]);
});

testWith([WATCHMAN], 'does not rely on what watchman said of another root', async () => {
  const server = await watchman();
  const ws = new Watched(TREE);
  await ws.settle();
  server.tell('watch-del', ws.root);
  fs.writeFileSync(ws.at('src/one.js'), 'while nobody watched');
  const { named, reason } = await ws.opensRightAfter(() => {});
  expect({ named, reason }).toEqual({
    named: null,
    reason: 'watchman began anew since the last scan',
  });
  expect((await ws.opensRightAfter(() => {})).named).not.toBeNull();
});

testWith([WATCHMAN], 'looks at every file once watchman was started anew', async () => {
  const server = await watchman();
  const ws = new Watched(TREE);
  await ws.settle();
  await server.kill();
  fs.writeFileSync(ws.at('src/one.js'), 'while nobody watched');
  await server.restart();
  const { reason } = await ws.opensRightAfter(() => {});
  expect(reason).toBe('watchman began anew since the last scan');
  expect((await ws.opensRightAfter(() => {})).named).not.toBeNull();
});

testWith([WATCHMAN], 'looks at every file once watchman has crawled the tree again', async () => {
  const server = await watchman();
  const ws = new Watched(TREE);
  await ws.settle();
  server.tell('debug-recrawl', ws.root);
  const { reason } = await ws.opensRightAfter(() => fs.appendFileSync(ws.at('a.txt'), 'more'));
  expect(reason).toMatch(/lost track/);
  // The warning stays; it is the old one.
  expect((await ws.opensRightAfter(() => {})).named).not.toBeNull();
});

testWith([WATCHMAN], 'follows watchman in what it is told to ignore from now on', async () => {
  await watchman();
  const ws = new Watched(TREE);
  await ws.settle();
  await ws.opensRightAfter(() => {
    fs.writeFileSync(ws.at('.watchmanconfig'), '{ "ignore_dirs": ["src"] }');
    fs.writeFileSync(ws.at('src/one.js'), 'ignored by now');
  });
  for (const text of ['again', 'and again']) {
    await ws.opensRightAfter(() => fs.writeFileSync(ws.at('src/one.js'), text));
  }
});

testWith([WATCHMAN], 'does not take a lost clock or one of another store for its own', async () => {
  await watchman();
  const ws = new Watched(TREE);
  const { named, reason } = await ws.opensRightAfter(() => {});
  expect({ named, reason }).toEqual({
    named: null,
    reason: 'watchman has nothing to compare with yet',
  });
});

testWith(
  [WATCHMAN, command('python3', '-c', 'import mmap')],
  'finds at the close what watchman cannot see: a store through a mapping',
  async () => {
    await watchman();
    const ws = new Watched(TREE);
    await ws.settle();
    const script =
      'import mmap,sys; f=open(sys.argv[1],"r+b"); m=mmap.mmap(f.fileno(),1); m[0]=90; m.flush()';
    spawnSync('python3', ['-c', script, ws.at('src/one.js')]);
    const turn = await ws.open();
    expect(ws.wrong()).toEqual(['src/one.js']);
    const { changes } = await turn.close();
    expect(changes).toMatchObject([
      { path: 'src/one.js', before: { sha256: sha256('1') }, after: { sha256: sha256('Z') } },
    ]);
    expect((await ws.opensRightAfter(() => {})).reason).toBe('');
  },
);
