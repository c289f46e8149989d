import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { lab } from '../support/cli.js';
import { file, symlink, tree } from '../support/tree.js';

const MOMENT = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const COUNTS = { created: 0, modified: 0, deleted: 0, type: 0, metadata: 0, unknown: 0 };

test('show, close and watch tell a turn with all its steps and files', async () => {
  const it = lab();
  tree(it.root, { 'a.txt': 'old\n', gone: file('bye', 0o600), link: symlink('a.txt'), sub: {} });
  await it.run(['open', '--turn', 'fix-css', '--label', 'npm run format']);
  tree(it.root, { 'a.txt': 'newer\n', made: { 'by.hand': 'x' } });
  fs.rmSync(path.join(it.root, 'gone'));
  const closed = await it.json(['close', '--turn', 'fix-css']);
  const files = [
    { path: 'a.txt', change: 'modified', pre: content('old\n'), post: content('newer\n') },
    { path: 'gone', change: 'deleted', pre: content('bye', '0600'), post: { kind: 'absent' } },
    {
      path: 'made',
      change: 'created',
      pre: { kind: 'absent' },
      post: { kind: 'content', type: 'directory', mode: '0755' },
    },
    { path: 'made/by.hand', change: 'created', pre: { kind: 'absent' }, post: content('x') },
  ];
  const hook = { kind: 'hook', openedAt: MOMENT, closedAt: MOMENT };
  const head = { turn: 'fix-css', at: MOMENT, status: 'closed', partial: false };
  expect(closed).toMatchObject({ ...head, label: 'npm run format', steps: [hook], files });

  const script = 'cd ..; ln -sf gone link; chmod 0711 sub; rm a.txt; mkdir a.txt; echo "to stdout"';
  const command = ['sh', '-c', script];
  const args = ['watch', '--json', '--turn', 'fix-css', '--', ...command];
  const watched = await it.run(args, { cwd: path.join(it.root, 'sub') });
  expect(watched).toMatchObject({ code: 0, stdout: 'to stdout\n' });
  const shown = await it.json<{ files: object[] }>(['show', 'fix-css']);
  expect(JSON.parse(watched.stderr)).toEqual(shown);
  expect(shown).toMatchObject({
    ...head,
    steps: [hook, { kind: 'command', command, cwd: 'sub', exitCode: 0 }],
  });
  expect(shown.files).toHaveLength(4 + 2);
});

test('each kind of change has its name and its image', async () => {
  const it = lab();
  tree(it.root, {
    'a.txt': 'old\n',
    mode: file('same', 0o644),
    link: symlink('a.txt'),
    swap: 'file',
    sub: {},
  });
  await it.turn(
    'ln -sfn gone link; chmod 0711 sub; chmod u+s,g-r mode; rm swap; mkdir swap; : > empty',
  );
  const link = { kind: 'content', type: 'symlink' };
  const directory = { kind: 'content', type: 'directory' };
  const { files } = await it.json<{ files: object[] }>(['show', 't1']);
  expect(files).toMatchObject([
    { path: 'empty', change: 'created', pre: { kind: 'absent' }, post: content('') },
    {
      path: 'link',
      change: 'modified',
      pre: { ...link, target: 'a.txt' },
      post: { ...link, target: 'gone' },
    },
    { path: 'mode', change: 'metadata', pre: content('same'), post: content('same', '4604') },
    {
      path: 'sub',
      change: 'metadata',
      pre: { ...directory, mode: '0755' },
      post: { ...directory, mode: '0711' },
    },
    { path: 'swap', change: 'type', pre: content('file'), post: { ...directory, mode: '0755' } },
  ]);
  expect(await it.json(['list'])).toMatchObject({
    turns: [{ counts: { ...COUNTS, created: 1, modified: 1, type: 1, metadata: 2 } }],
  });
});

test('list tells the turns, newest first, and log those that touched a path', async () => {
  const it = lab();
  await it.turn('mkdir a; echo 1 > a/x', '--label', 'first of all', '--no-watch');
  await it.turn('echo 2 > b', '--turn', 'other', '--no-watch');
  await it.run(['rewind']);
  await it.run(['open', '--turn', 'last', '--no-watch']);
  const common = { label: '', at: MOMENT, partial: false };
  const t1 = { turn: 't1', label: 'first of all', counts: { ...COUNTS, created: 2 } };
  expect(await it.json(['list'])).toMatchObject({
    turns: [
      { ...common, turn: 'last', status: 'open', counts: COUNTS },
      { ...common, turn: 'other', status: 'rewound', counts: { ...COUNTS, created: 1 } },
      { ...common, ...t1, status: 'closed' },
    ],
  });
  expect(await it.json(['log', 'a'])).toMatchObject({ turns: [t1] });
  expect(await it.json(['log', 'b'])).toMatchObject({ turns: [{ turn: 'other' }] });
});

test('status tells root, store, turns, baseline, sizes and watcher', async () => {
  const it = lab();
  tree(it.root, { 'a.txt': '1234', b: { c: '56' } });
  await it.run(['open', '--turn', 'x', '--no-watch']);
  const status = await it.json<Record<string, unknown> & { store: string }>(['status']);
  expect(status).toMatchObject({
    root: it.root,
    openTurns: ['x'],
    turns: 1,
    baseline: { files: 2, bytes: 6, at: MOMENT },
    sizes: {
      packs: expect.any(Number),
      manifests: expect.any(Number),
      log: fs.statSync(path.join(status.store, 'log')).size,
    },
    watcher: expect.any(String),
  });
  expect(fs.statSync(status.store).mode & 0o777).toBe(0o700);
});

test('a rewind tells the turns that it undid, newest first, and each path’s outcome', async () => {
  const it = lab();
  tree(it.root, { 'a.txt': 'old', 'b.txt': 'old' });
  await it.turn('echo 1 > a.txt; echo 1 > b.txt; echo 1 > new', '--turn', 'one', '--no-watch');
  await it.turn('echo 2 > a.txt', '--turn', 'two', '--no-watch');
  tree(it.root, { 'b.txt': 'by the user' });
  const wanted = {
    turn: 'one',
    turns: ['two', 'one'],
    complete: false,
    outcomes: [
      { path: 'a.txt', outcome: 'restored' },
      { path: 'b.txt', outcome: 'conflict', reason: expect.stringMatching(/\w/) },
      { path: 'new', outcome: 'deleted' },
    ],
  };
  const dry = await it.run(['rewind', 'one', '--dry-run', '--json']);
  expect(dry).toMatchObject({ code: 1, stderr: '' });
  expect(JSON.parse(dry.stdout)).toMatchObject(wanted);
  const wet = await it.run(['rewind', 'one', '--json']);
  expect(wet).toMatchObject({ code: 1, stderr: '' });
  expect(JSON.parse(wet.stdout)).toEqual(JSON.parse(dry.stdout));
});

test('the timeline tells what came and went inside the step', async () => {
  const it = lab();
  tree(it.root, { 'a.txt': 'old' });
  await it.turn('echo new > a.txt; echo x > made', '--turn', 'seen');
  await it.turn('echo newer > a.txt', '--turn', 'unseen', '--no-watch');
  expect(await it.json(['show', 'seen', '--timeline'])).toMatchObject({
    timeline: { complete: true, watcher: expect.any(String), events: expect.any(Array) },
  });
  const { timeline } = await it.json<{ timeline: { events: { path: string }[] } }>([
    'show',
    'seen',
    '--timeline',
  ]);
  for (const event of timeline.events) {
    expect(event).toEqual({
      at: MOMENT,
      path: expect.any(String),
      event: expect.stringMatching(/^(create|update|delete)$/),
    });
  }
  expect(timeline.events.map((event) => event.path)).toEqual(
    expect.arrayContaining(['a.txt', 'made']),
  );
  expect(await it.json(['show', 'unseen', '--timeline'])).toMatchObject({
    timeline: { complete: false, reason: expect.stringMatching(/\w/), events: [] },
  });
});

test('a name that is not UTF-8 carries its bytes beside a lossy text', async () => {
  const it = lab();
  const name = Buffer.from('caf\xe9\xff', 'latin1');
  await it.turn('echo x > "$(printf \'caf\\351\\377\')"; echo y > café');
  const odd = { path: name.toString('utf8'), pathBytes: name.toString('base64') };
  const { files } = await it.json<{ files: Record<string, unknown>[] }>(['show', 't1']);
  expect(files).toHaveLength(2);
  expect(files).toContainEqual(expect.objectContaining({ ...odd, change: 'created' }));
  const plain = files.find((one) => one.path === 'café');
  expect(plain).not.toHaveProperty('pathBytes');
  const { outcomes } = await it.json<{ outcomes: object[] }>(['rewind']);
  expect(outcomes).toContainEqual({ ...odd, outcome: 'deleted' });
  expect(fs.readdirSync(it.root)).toEqual([]);
});

function content(text: string, mode = '0644'): object {
  const sha256 = crypto.createHash('sha256').update(text).digest('hex');
  return { kind: 'content', type: 'file', sha256, bytes: Buffer.byteLength(text), mode };
}
