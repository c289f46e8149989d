import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { closeTurn, openStore, openTurn, verifyStore, workspaceStatus } from '../../src/index.js';
import { PackWriter } from '../../src/store/pack-writer.js';
import { CLI, runProcess } from '../support/cli.js';
import { hostsOf } from '../support/hosts.js';
import { HELD_TO_THE_MODE, SMALL_DISKS, testWith, UNPRIVILEGED } from '../support/machine.js';
import { fillDisk, smallDisk } from '../support/small-disk.js';
import { dir, snapshot, temporary, tree } from '../support/tree.js';
import { eventually } from '../watch/eventually.js';
import { callsOf, HOOK, type Program, strike } from './victim.js';
import { look, makeTurn, makeWorld, rewindTo, type World, withTurnThree } from './world.js';

test('two processes that find the same cut-off rewind finish it once', async () => {
  const world = await withTurnThree(await makeWorld());
  await cutOff(world, ['rewind', 'three'], RENAMED);
  const runs = await Promise.all([1, 2, 3].map(() => strike(world, ['status'])));
  expect(runs.map(({ code, stderr }) => ({ code, stderr }))).toEqual(
    [1, 2, 3].map(() => ({ code: 0, stderr: '' })),
  );
  expect(look(world)).toEqual(world.states[2]);
  const log = fs.readFileSync(path.join(world.store, 'log'), 'utf8');
  expect(log.match(/"type":"rewound"/g)).toHaveLength(1);
});

test('a dry run changes nothing on disk, a rewind that was cut off included', async () => {
  const world = await withTurnThree(await makeWorld());
  await cutOff(world, ['rewind', 'three'], RENAMED);
  const half = look(world);
  const run = await strike(world, ['rewind', '--dry-run']);
  expect(run).toMatchObject({ code: 5, stdout: '' });
  expect(run.stderr).toMatch(/rewind of turn three was cut off.*preimage status/s);
  expect(look(world)).toEqual(half);
  expect(await strike(world, ['status'])).toMatchObject({ code: 0, stderr: '' });
  expect(look(world)).toEqual(world.states[2]);
});

test('what somebody changed after the crash is left alone, named, and still to be rewound', async () => {
  const world = await withTurnThree(await makeWorld());
  await cutOff(world, ['rewind', 'three'], RENAMED);
  fs.writeFileSync(path.join(world.root, 'run.sh'), 'mine, after the crash\n');
  const run = await strike(world, ['status']);
  expect(run.stdout).toMatch(/conflict +run\.sh +it was changed after the crash/);
  expect(fs.readFileSync(path.join(world.root, 'run.sh'), 'utf8')).toBe('mine, after the crash\n');
  expect(await rewindTo(world, 'three')).toEqual([expect.stringContaining('run.sh: conflict')]);
  const now = look(world);
  const own = Object.entries(now).filter(([name]) => name.startsWith('run.sh'));
  const others = Object.entries(world.states[2] ?? {}).filter(([name]) => !/^run\.sh/.test(name));
  expect(now).toEqual(Object.fromEntries([...others, ...own]));
});

test('a watcher of a step that never opened, or whose close was cut off, ends by the next command', async () => {
  for (const [command, last] of [
    [['open', '--turn', 'three'], /^linkSync .*\/locks\/log$/],
    [['close', '--turn', 'three'], /^rmSync .*\/control\//],
  ] as const) {
    const world = await makeWorld();
    if (command[0] === 'close') await strike(world, ['open', '--turn', 'three']);
    await cutOff(world, command, last, 'before');
    await workspaceStatus(world);
    if (command[0] === 'open')
      expect(fs.readdirSync(path.join(world.store, 'control'))).toEqual([]);
    if (command[0] === 'close')
      await expect(closeTurn({ ...world, turn: 'three' })).rejects.toMatchObject({
        code: 'no-such-turn',
      });
    expect(fs.readdirSync(path.join(world.store, 'control'))).toEqual([]);
    await eventually('its watcher has ended', () => hostsOf(world.store).length === 0);
  }
});

test('bytes that another process is still writing are stored again: it may fail and take them along', async () => {
  const world = await makeWorld();
  const packs = path.join(world.store, 'packs');
  const bytes = Buffer.from('the same bytes in two processes\n');
  // Whoever writes has a lease before it makes its pack.
  fs.mkdirSync(path.join(world.store, 'control', `${process.pid}-0a1b2c3d4e5f`));
  const other = new PackWriter(packs, () => false);
  const sha256 = other.add(bytes);
  other.flush();
  fs.writeFileSync(path.join(world.root, 'plain.txt'), bytes);
  await makeTurn(world, 'three', () => {
    fs.rmSync(path.join(world.root, 'plain.txt'));
  });
  other.discard();
  expect(await rewindTo(world, 'three')).toEqual([]);
  expect(fs.readFileSync(path.join(world.root, 'plain.txt'))).toEqual(bytes);
  const { stderr } = await strike(world, ['watch', '--no-watch', '--', 'true']);
  expect(stderr).not.toMatch(/packs are missing/);
  expect(sha256).toHaveLength(64);
});

test('a pack that a dead writer has left half written is ended by the next open', async () => {
  const world = await makeWorld();
  const dead = new PackWriter(path.join(world.store, 'packs'), () => false);
  dead.add(Buffer.from('whole'));
  dead.flush();
  const pack = path.join(world.store, 'packs', `${String(dead.number).padStart(8, '0')}.pack`);
  const whole = fs.statSync(pack).size;
  fs.appendFileSync(pack, 'half a record');
  await strike(world, ['watch', '--no-watch', '--', 'true']);
  expect(fs.statSync(pack).size).toBe(whole);
  expect(verifyStore(world)).toMatchObject({ whole: true, findings: [] });
});

test('a library that writes a secret never shows it to others, not for a moment', async () => {
  const world = await makeWorld();
  const { calls } = await callsOf(world, 'library');
  const modes = calls.filter(
    ({ name, path: at }) => name === 'fchmodSync' && at.includes('.preimage-'),
  );
  expect(modes.length).toBeGreaterThan(0);
  await cutOff(world, 'library', /^fchmodSync .*\.preimage-/, 'before');
  const staged = Object.entries(look(world)).filter(([name]) => name.includes('.preimage-'));
  expect(staged).toEqual([[expect.any(String), expect.stringMatching(/^file 0600 /)]]);
});

test('an agent whose close failed can go on in the same process', async () => {
  const base = temporary();
  const at = {
    root: tree(path.join(base, 'ws'), { 'a.txt': 'old' }),
    store: path.join(base, 'store'),
  };
  const turn = await openTurn({ ...at, turn: 'x' });
  turn.write('a.txt', 'new');
  const details = path.join(at.store, 'manifests');
  fs.renameSync(details, `${details}-away`);
  await expect(turn.close()).rejects.toMatchObject({ name: 'PreimageError' });
  fs.renameSync(`${details}-away`, details);
  const store = openStore(at);
  expect(await store.rewind({ turn: 'x' })).toMatchObject({ complete: true });
  store.close();
  expect(fs.readFileSync(path.join(at.root, 'a.txt'), 'utf8')).toBe('old');
});

testWith(
  [UNPRIVILEGED],
  'a rewind in directories that are closed to their owner, killed at any call, closes them again',
  async () => {
    const script = [
      'chmod u+w shut && echo new > shut/one && rm shut/two && chmod 555 shut',
      'mkdir made && echo x > made/x && chmod 555 made',
      'echo new > a.txt && chmod 000 a.txt',
      'chmod 0 gone',
    ].join(' && ');
    const prepare = async () => {
      const base = temporary('preimage-closed');
      const root = tree(path.join(base, 'ws'), {
        'a.txt': 'a\n',
        shut: dir(0o555, { one: 'one\n', two: 'two\n' }),
        gone: { 'x.txt': 'x\n' },
      });
      const world = { root, store: path.join(base, 'store'), outside: base, states: [] };
      const before = snapshot(root);
      expect(await held(world, ['watch', '--no-watch', '--', 'sh', '-ec', script])).toMatchObject({
        code: 0,
      });
      return { world, before };
    };
    const { world: first } = await prepare();
    const calls = await held(first, ['rewind'], { PREIMAGE_CRASH_CALLS: `${first.root}-calls` });
    expect(calls).toMatchObject({ code: 0 });
    const count = fs.readFileSync(`${first.root}-calls`, 'utf8').trim().split('\n').length;
    const soak = Number(process.env.PREIMAGE_SOAK ?? 0);
    const step = soak > 0 ? soak : Math.floor(count / 5);
    for (let n = 1 + (Date.now() % step); n <= count; n += step) {
      const { world, before } = await prepare();
      await held(world, ['rewind'], { PREIMAGE_CRASH: `after:${n}` });
      const status = await held(world, ['status']);
      const again = await held(world, ['rewind']);
      const seen = { n, status, again };
      expect({ ...seen, now: snapshot(world.root) }).toEqual({
        ...seen,
        status: expect.objectContaining({ code: 0, stderr: '' }),
        again: expect.objectContaining({ code: expect.toBeOneOf([0, 3]) }),
        now: before,
      });
    }
  },
  600_000,
);

testWith(
  [SMALL_DISKS],
  'a workspace without room for the rewind stays as it is, and says so',
  async () => {
    const base = temporary();
    const root = path.join(smallDisk('1m'), 'ws');
    const at = {
      root: tree(root, { 'a.txt': 'old\n', 'b.bin': Buffer.alloc(300_000, 'b') }),
      store: path.join(base, 'store'),
    };
    const world: World = { ...at, outside: base, states: [] };
    const before = snapshot(root);
    await makeTurn(world, 'x', () => {
      fs.writeFileSync(path.join(root, 'a.txt'), 'new\n');
      fs.rmSync(path.join(root, 'b.bin'));
    });
    const filler = fillDisk(path.dirname(root));
    const full = snapshot(root);
    const run = await strike(world, ['rewind', 'x']);
    expect(run).toMatchObject({ code: 1, stderr: '' });
    expect(run.stdout).toMatch(/no space left on the device; nothing was changed/);
    expect(snapshot(root)).toEqual(full);
    fs.rmSync(filler);
    expect(await strike(world, ['rewind', 'x'])).toMatchObject({ code: 0 });
    expect(snapshot(root)).toEqual(before);
  },
);

testWith(
  [SMALL_DISKS],
  'a file that is written in place stays whole where it has no room to grow',
  async () => {
    const base = temporary();
    const disk = smallDisk('1m');
    const root = tree(path.join(disk, 'ws'), { 'pair.bin': Buffer.alloc(300_000, 'old ') });
    fs.linkSync(path.join(root, 'pair.bin'), path.join(disk, 'outside'));
    const world: World = { root, store: path.join(base, 'store'), outside: base, states: [] };
    const before = snapshot(root);
    await makeTurn(world, 'x', () => {
      fs.writeFileSync(path.join(root, 'pair.bin'), Buffer.alloc(10_000, 'new '));
    });
    const filler = fillDisk(disk);
    const full = snapshot(root);
    const run = await strike(world, ['rewind', 'x']);
    expect(run).toMatchObject({ code: 1, stderr: '' });
    expect(run.stdout).toMatch(/failed +pair\.bin +no space left/);
    expect(snapshot(root)).toEqual(full);
    fs.rmSync(filler);
    expect(await strike(world, ['rewind', 'x'])).toMatchObject({ code: 0 });
    expect(snapshot(root)).toEqual(before);
    expect(fs.statSync(path.join(disk, 'outside')).ino).toBe(
      fs.statSync(path.join(root, 'pair.bin')).ino,
    );
  },
);

testWith(
  [SMALL_DISKS],
  'a store without room for the journal changes nothing; without room for its end, the next command writes it',
  async () => {
    const disk = smallDisk('1m');
    const base = temporary();
    const root = tree(path.join(base, 'ws'), { 'a.txt': 'old\n' });
    const world: World = { root, store: path.join(disk, 'store'), outside: base, states: [] };
    const before = snapshot(root);
    await makeTurn(world, 'x', () => {
      fs.writeFileSync(path.join(root, 'a.txt'), 'new\n');
    });
    const after = snapshot(root);
    const filler = fillDisk(disk);
    const run = await strike(world, ['rewind', 'x']);
    expect(run).toMatchObject({ code: 4, stdout: '' });
    expect(run.stderr).toMatch(/no space left.*\n +Make room first\. Nothing was changed/);
    expect(snapshot(root)).toEqual(after);
    fs.rmSync(filler);
    expect(await strike(world, ['rewind', 'x'])).toMatchObject({ code: 0 });
    expect(snapshot(root)).toEqual(before);
    expect(await strike(world, ['redo'])).toMatchObject({ code: 0 });
    expect(snapshot(root)).toEqual(after);
  },
);

/** A rewind has its first file in place. */
const RENAMED = /^renameSync .*\/ws\//;

/** Kills a program at the first call whose name and path fit. */
async function cutOff(
  world: World,
  program: Program,
  match: RegExp,
  mode: 'after' | 'before' = 'after',
): Promise<void> {
  const run = await strike(world, program, { mode, at: 1, match });
  expect(run).toMatchObject({ code: 128 });
}

/** Runs the command line without the right to read what the mode forbids, and perhaps kills it. */
function held(world: World, args: readonly string[], crash: NodeJS.ProcessEnv = {}) {
  const [program = '', ...rest] = [
    ...HELD_TO_THE_MODE,
    process.execPath,
    '--import',
    HOOK,
    CLI,
    ...args,
  ];
  const env = { ...process.env, PREIMAGE_STORE: world.store, NO_COLOR: '1', ...crash };
  return runProcess(program, rest, { cwd: world.root, env });
}
