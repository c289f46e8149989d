import fs from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { LogRecord } from '../../src/core/records.js';
import { relPath } from '../../src/core/relpath.js';
import { ownIdentity } from '../../src/files/process-identity.js';
import { withLock } from '../../src/store/lock.js';
import { appendRecord, readLog } from '../../src/store/log.js';
import { temporary } from '../support/tree.js';

const record = (step: number, label = ''): LogRecord => ({
  type: 'rewind',
  step,
  kind: 'rewind',
  at: '2026-11-30T10:00:00.000Z',
  owner: ownIdentity(),
  turn: `t${step}`,
  turns: [],
  undoes: [],
  partial: false,
  whole: true,
  times: 'now',
  plan: {
    kind: 'inline',
    changes: [
      {
        path: relPath(`caf\xe9/${label}`),
        before: { kind: 'absent' },
        after: { kind: 'content', type: 'symlink', target: '\xff\n', uid: 0, gid: 0 },
      },
    ],
  },
});

function logOf(count: number): string {
  const path = join(temporary(), 'log');
  for (let step = 1; step <= count; step++) appendRecord(path, readLog(path), record(step, 'x'));
  return path;
}

test('what is appended is what is read, bytes that are no UTF-8 included', () => {
  const { records, torn } = readLog(logOf(3));
  expect(records).toEqual([record(1, 'x'), record(2, 'x'), record(3, 'x')]);
  expect(torn).toBe(false);
});

test('a torn last line is dropped and said, and the next append starts on a line of its own', () => {
  const path = logOf(3);
  const whole = fs.readFileSync(path, 'utf8');
  for (let cut = 1; cut < String(whole.split('\n')[2]).length; cut += 37) {
    fs.writeFileSync(path, whole.slice(0, whole.length - 1 - cut));
    const contents = readLog(path);
    expect(contents.records).toHaveLength(2);
    expect(contents.torn).toBe(true);
    appendRecord(path, contents, record(9, 'x'));
    expect(readLog(path).records.at(-1)).toEqual(record(9, 'x'));
  }
});

test('any other change of a line is damage, told with its number', () => {
  const path = logOf(3);
  const lines = fs.readFileSync(path, 'utf8').split('\n');
  const forged = [...lines];
  forged[1] = String(forged[1]).replace('"t2"', '"t7"');
  fs.writeFileSync(path, forged.join('\n'));
  expect(() => readLog(path)).toThrow(/Line 2 .*hash/);
  fs.writeFileSync(path, [lines[0], lines[2], ''].join('\n'));
  expect(() => readLog(path)).toThrow(/Line 2 .*follow/);
  fs.writeFileSync(path, [lines[1], lines[2], ''].join('\n'));
  expect(() => readLog(path)).toThrow(/Line 1 /);
});

test('a lock dies with its holder, and a live holder is waited for by name', () => {
  const locks = temporary();
  const path = join(locks, 'log');
  const dead = { ...ownIdentity(), start: '1' };
  fs.writeFileSync(path, JSON.stringify(dead));
  expect(withLock(locks, 'log', () => 'held')).toBe('held');
  expect(fs.existsSync(path)).toBe(false);
  const rebooted = { ...ownIdentity(), boot: 'another run of the machine' };
  fs.writeFileSync(path, JSON.stringify(rebooted));
  expect(withLock(locks, 'log', () => 'held')).toBe('held');
  expect(fs.readdirSync(locks)).toEqual([]);
});
