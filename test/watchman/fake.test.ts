import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { type BserValue, decodeBser, encodeBser, lengthOfBser } from '../../src/watch/bser.js';
import { sha256 } from '../support/scan.js';
import { temporary } from '../support/tree.js';
import { useSocket } from '../support/watchman.js';
import { Watched } from './workspace.js';

const TREE = { 'a.txt': 'a', src: { 'one.js': '1', 'two.js': '2' } };

type Answers = Record<string, BserValue | Buffer | 'silence' | 'end'>;

/** Answers as watchman would, but for what a test wants otherwise. */
async function fake(root: string, otherwise: Answers = {}): Promise<void> {
  const answers: Answers = {
    'watch-project': { watch: root, version: '4.9.0' },
    'get-config': { config: {}, version: '4.9.0' },
    query: { clock: 'c:1:2:3:4', is_fresh_instance: false, files: [], version: '4.9.0' },
    ...otherwise,
  };
  const socket = path.join(temporary(), 'sock');
  const server = net.createServer((connection) => {
    connection.on('error', () => {});
    connection.on('data', (asked) => {
      const command = decodeBser(asked);
      const answer = answers[Array.isArray(command) ? String(command[0]) : ''] ?? 'end';
      if (answer === 'end') connection.destroy();
      if (answer === 'silence' || answer === 'end') return;
      connection.write(Buffer.isBuffer(answer) ? answer : encodeBser(answer));
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(socket, resolve);
  });
  onTestFinished(() => {
    server.close();
  });
  useSocket(socket);
}

const TROUBLES: Record<string, readonly [Answers, RegExp]> = {
  'refuses the root': [
    { 'watch-project': { error: 'root is on the list of illegal_fstypes' } },
    /^watchman said: root is on the list of illegal_fstypes$/,
  ],
  'ends the connection': [{ query: 'end' }, /^watchman ended the connection$/],
  'says nothing': [{ query: 'silence' }, /^watchman gave no answer in time$/],
  'speaks another language': [{ query: Buffer.from('{"a":1}\n') }, /^watchman said what cannot be/],
  'lacks what is asked for': [{ query: { clock: 'c:1:2:3:4' } }, /not known to say$/],
  'may not tell of a recrawl': [
    { 'get-config': { config: { suppress_recrawl_warnings: true } } },
    /suppress_recrawl_warnings/,
  ],
  'does not look there': [
    { 'watch-project': { watch: '/', relative_path: 'project/.git/x' } },
    /^watchman does not look into this directory$/,
  ],
};

test.each(Object.entries(TROUBLES))(
  'looks at every file, and says why, where watchman %s',
  async (_, [answers, why]) => {
    const ws = new Watched(TREE);
    await fake(ws.root);
    await ws.settle();
    await fake(ws.root, answers);
    fs.writeFileSync(ws.at('src/one.js'), 'changed');
    const { named, reason } = await ws.opensRightAfter(() => {});
    expect(named).toBeNull();
    expect(reason).toMatch(why);
  },
);

test('looks at every file where nobody answers or watchman is not installed', async () => {
  const ws = new Watched(TREE);
  useSocket(path.join(temporary(), 'nobody'));
  expect((await ws.opensRightAfter(() => {})).reason).toBe(
    'watchman cannot be reached: no such file or directory',
  );
  useSocket('');
  const programs = process.env.PATH;
  process.env.PATH = temporary();
  onTestFinished(() => {
    process.env.PATH = programs;
  });
  expect((await ws.opensRightAfter(() => {})).reason).toBe('watchman is not installed');
});

test('a write that watchman keeps back comes to light at the close, with the bytes of before', async () => {
  const ws = new Watched(TREE);
  await fake(ws.root);
  await ws.settle();
  fs.writeFileSync(ws.at('src/one.js'), 'kept back');
  const turn = await ws.open();
  expect(ws.how().reason).toBe('');
  const { changes } = await turn.close();
  expect(changes).toMatchObject([
    { path: 'src/one.js', before: { sha256: sha256('1') }, after: { sha256: sha256('kept back') } },
  ]);
});

test('watchman is not believed once it kept back what is seen without it', async () => {
  const ws = new Watched(TREE);
  await fake(ws.root);
  await ws.settle();
  const { named, reason } = await ws.opensRightAfter(() => {
    fs.writeFileSync(ws.at('src/new.js'), 'new');
    fs.writeFileSync(ws.at('a.txt'), 'in place');
  });
  expect(named).toBeNull();
  expect(reason).toBe('watchman did not name src, which had changed');
});

test('names that are no paths of the workspace are of no account', async () => {
  const ws = new Watched(TREE);
  const files = [
    '../outside',
    '/etc/passwd',
    'src//one.js',
    '',
    'a\0b',
    'no/such/thing',
    'src/./x',
  ];
  const query = { clock: 'c:1:2:3:4', is_fresh_instance: false, files };
  await fake(ws.root, { query });
  await ws.settle();
  const { named } = await ws.opensRightAfter(() => {});
  expect(named).toBe(files.length);
});

test('messages are read as they are written, whatever their parts', () => {
  const values: BserValue[] = [
    null,
    true,
    -129,
    70_000,
    '',
    'caf\xe9\xff',
    [],
    { a: [{ b: 'c' }, false], d: '' },
    'x'.repeat(70_000),
  ];
  for (const value of values) {
    const message = encodeBser(value);
    expect(decodeBser(message)).toEqual(value);
    expect(lengthOfBser(message)).toBe(message.length);
    for (let cut = 0; cut < 3; cut++)
      expect(lengthOfBser(message.subarray(0, cut))).toBe('partial');
  }
  expect(() => lengthOfBser(Buffer.from('{}\n'))).toThrow(RangeError);
  expect(() => decodeBser(encodeBser('abc').subarray(0, -1))).toThrow(RangeError);
});

test('a list of records of the same shape is read', () => {
  // The example of watchman's own documentation of BSER: [{name: fred, age: 20}, {name: pete, age: 30}, {age: 25}]
  const bytes =
    '0b 00 03 02 02 03 04 6e 61 6d 65 02 03 03 61 67 65 03 03 ' +
    '02 03 04 66 72 65 64 03 14 02 03 04 70 65 74 65 03 1e 0c 03 19';
  const body = Buffer.from(bytes.replaceAll(' ', ''), 'hex');
  const message = Buffer.concat([Buffer.from([0, 1, 3, body.length]), body]);
  expect(decodeBser(message)).toEqual([
    { name: 'fred', age: 20 },
    { name: 'pete', age: 30 },
    { name: null, age: 25 },
  ]);
});
