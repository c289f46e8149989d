import { expect, test } from 'vitest';
import { type Command, figures, live } from './run.js';
import type { Operation, Spot } from './shell.js';

/*
 * Lives that were found to end wrongly, by the model test or by thinking, and that chance meets rarely.
 * Each is lived with the model beside it, which says what is right.
 */

const a: Spot = { in: 0, name: 'a' };
const b: Spot = { in: 0, name: 'b' };
const inA: Spot = { in: 1, name: 'b' };

const write = (at: Spot, data: string): Operation => ({ op: 'write', at, data });
const mkdir = (at: Spot): Operation => ({ op: 'mkdir', at });
const remove = (at: Spot): Operation => ({ op: 'remove', at });
const link = (from: Spot, to: Spot): Operation => ({ op: 'link', from, to });
const chmod = (at: Spot, mode: number): Operation => ({ op: 'chmod', at, mode });

const byHand = (...operations: Operation[]): Command => ({ do: 'shell', operations });
const turn = (...operations: Operation[]): Command => ({ do: 'watch', turn: 'next', operations });
const of = (id: 'x' | 'y', ...operations: Operation[]): Command => ({
  do: 'watch',
  turn: id,
  operations,
});
const open = (id: 'x' | 'y'): Command => ({ do: 'open', turn: id });
const close = (which: number): Command => ({ do: 'close', which });
const rewind = (
  which: number | 'newest',
  more: { force?: boolean; paths?: number[] } = {},
): Command => ({ do: 'rewind', turn: which, force: false, paths: [], atOnce: false, ...more });
const redo: Command = { do: 'redo', force: false, atOnce: false };

const LIVES: Record<string, readonly Command[]> = {
  'a directory stays that a later turn’s loss is put back into': [
    turn(mkdir(a)),
    byHand(write(inA, 'one')),
    turn(remove(inA)),
    rewind(0),
    redo,
  ],
  'a name made by hand keeps the bits that the turn had set': [
    byHand(write(a, 'one')),
    turn(chmod(a, 0o600)),
    byHand(link(a, b)),
    rewind('newest'),
    redo,
  ],
  'a name that was removed is a name of the other one again': [
    byHand(write(a, 'one'), link(a, b)),
    turn(remove(b)),
    rewind('newest'),
    redo,
  ],
  'a name that went to another file does not hinder the rewriting of its old one': [
    byHand(
      write(a, ''),
      link(a, b),
      write({ in: 0, name: '.env' }, ''),
      mkdir({ in: 0, name: 'a-' }),
    ),
    byHand(link({ in: 0, name: '.env' }, { in: 1, name: 'a' })),
    turn(write(a, 'six'), { op: 'rename', from: b, to: { in: 1, name: 'a' } }),
    rewind('newest'),
    redo,
  ],
  'one inode with other bytes at other times is two files, not a failure': [
    byHand(write(a, 'one'), link(a, b)),
    turn(write(a, 'two')),
    byHand(link(a, { in: 0, name: '.env' })),
    turn(write(a, 'six')),
    rewind(0),
    redo,
  ],
  'steps of one turn that overlap: the last to close has the last word': [
    byHand(write(a, 'one')),
    open('x'),
    byHand(write(a, 'two')),
    of('x', write(a, 'six')),
    byHand(write(a, 'longer\n')),
    close(0),
    rewind('newest'),
    redo,
  ],
  'turns that overlap each other go back together with an earlier one': [
    byHand(write(a, 'one')),
    turn(write(b, 'one')),
    open('x'),
    byHand(write(a, 'two')),
    open('y'),
    byHand(write(a, 'six')),
    close(0),
    close(0),
    rewind(0),
    redo,
  ],
  'a session that is undone after another one leaves that one undone': [
    open('x'),
    byHand(write(a, 'one')),
    open('y'),
    byHand(write(b, 'one')),
    close(0),
    close(0),
    rewind(0, { force: true }),
    rewind(1, { force: true }),
    redo,
    redo,
  ],
  'a turn of many steps stays whole when one that lies between is undone': [
    of('x', write(a, 'one')),
    of('y', write(b, 'one')),
    of('x', write(a, 'two'), write(b, 'two')),
    of('y', mkdir({ in: 0, name: 'a-' })),
    rewind(0),
    rewind(0, { force: true }),
    rewind(1),
    redo,
  ],
  'a redo brings back no turn that an earlier rewind had undone': [
    turn(write(a, 'one')),
    turn(write(b, 'one')),
    rewind('newest'),
    rewind('newest'),
    redo,
    rewind('newest'),
    redo,
    redo,
  ],
  'a turn undone path by path, then whole, where nothing is left, comes back by one redo': [
    byHand(write(a, 'one')),
    turn(write(a, 'two')),
    rewind('newest', { paths: [0] }),
    rewind(0),
    redo,
    rewind(0),
  ],
  'what an unfinished redo brought back and a turn deleted is a conflict for the next redo': [
    turn(write(a, 'one'), mkdir(b)),
    rewind('newest', { force: true }),
    byHand(write(a, 'two')),
    redo,
    turn({ op: 'clear' }),
    redo,
    rewind('newest'),
  ],
  'a directory that an unfinished redo had to make is not taken away by the next one': [
    byHand(
      { op: 'symlink', at: { nth: 0 }, target: 'a' },
      mkdir(a),
      { op: 'symlink', at: a, target: 'a' },
      write({ nth: 0 }, ''),
      { op: 'link', from: a, to: { nth: 0 } },
      write({ nth: 0 }, ''),
      mkdir(a),
      mkdir(a),
    ),
    byHand({ op: 'swap', at: { in: 0, name: 'a-' }, kind: 'directory' }),
    turn(
      { op: 'swap', at: { in: 3, name: 'a' }, kind: 'file' },
      { op: 'replace', at: a, data: '' },
      write({ nth: 0 }, ''),
    ),
    rewind(0, { force: true }),
    turn({ op: 'clear' }, mkdir({ nth: 0 })),
    byHand(write({ in: 3, name: 'a' }, '')),
    { do: 'redo', force: true, atOnce: true },
    turn({ op: 'remove', at: a }),
    { do: 'redo', force: true, atOnce: false },
  ],
  'a file written in place by a redo, of which a name goes then': [
    byHand(write(a, 'two'), { op: 'link', from: { nth: 0 }, to: { in: 0, name: 'x\ny' } }),
    turn(write(a, '')),
    rewind('newest', { paths: [0] }),
    { do: 'redo', force: false, atOnce: true },
    turn({ op: 'remove', at: a }),
    rewind('newest'),
    redo,
  ],
  'some paths of an early turn, then a later turn whole': [
    byHand(write(a, 'one')),
    turn(write(a, 'two')),
    turn(write(b, 'two')),
    rewind(0, { paths: [0] }),
    rewind(1),
    redo,
    redo,
  ],
};

test.each(Object.entries(LIVES))('%s', async (_, commands) => {
  const { rewinds } = figures;
  await live(commands);
  expect(figures.rewinds).toBeGreaterThan(rewinds);
});
