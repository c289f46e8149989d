import crypto from 'node:crypto';
import fs from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Change } from '../../src/core/change.js';
import type { CloseRecord, LogRecord, RewindRecord } from '../../src/core/records.js';
import { encodeChanges } from '../../src/core/records.js';
import type { RelPath } from '../../src/core/relpath.js';
import { openStore, openTurn, PreimageError, type Store } from '../../src/index.js';
import { writeDetail } from '../../src/store/details.js';
import { appendRecord, readLog } from '../../src/store/log.js';
import { type Snapshot, snapshot, symlink, temporary, tree } from '../support/tree.js';

const EVIL = [
  '../outside.txt',
  'dir/../../outside.txt',
  '/etc/hostname',
  '..',
  '.',
  './a.txt',
  'dir//a.txt',
  'dir/',
  'a.txt\0.png',
];

/** Deletes what is there, as far as the log can say so. */
const DELETES = { before: { kind: 'absent' }, after: { kind: 'content', ...file('old') } } as const;

test.each(EVIL)(
  'a log whose chain fits but that names %j is damaged, and nothing is touched',
  async (path) => {
    for (const how of ['inline', 'detail', 'journal', 'journal in a file'] as const) {
      const forged = await forge(how, [path], DELETES);
      await expectDamaged(forged, how !== 'detail');
    }
  },
);

test('a path that leads through a link is left alone, whatever the log wants there', async () => {
  const wants: Pick<Change, 'before' | 'after'>[] = [
    DELETES,
    { before: DELETES.after, after: DELETES.before },
    { before: { kind: 'content', ...file('new') }, after: DELETES.after },
    { before: { kind: 'content', ...file('old'), mode: 0o777 }, after: DELETES.after },
  ];
  const paths = ['link/a.txt', 'link/deep/a.txt', 'link/new/a.txt'];
  for (const want of wants) {
    for (const how of ['inline', 'journal'] as const) {
      const { which, outside } = await forge(how, paths, want);
      const before = withTimes(outside);
      for (const ask of [{ turn: 't1' }, { turn: 't1', force: true }]) {
        await attempt(which, (store) => store.rewind(ask));
        await attempt(which, (store) => store.redo(ask));
        expect(withTimes(outside), how).toEqual(before);
      }
      expect(fs.readlinkSync(join(which.root, 'link'))).toBe(outside);
    }
  }
});

test('a directory of control files or a manifest cannot be named outside the store', async () => {
  for (const [field, value] of [
    ['control', '../../ws'],
    ['manifest', '../../ws/a.txt'],
    ['turn', '../x'],
  ] as const) {
    const forged = await withTurn();
    const { log } = forged;
    const contents = readLog(log);
    const open = contents.records.find(({ type }) => type === 'open');
    appendRecord(log, contents, { ...open, step: 9, [field]: value } as LogRecord);
    await expectDamaged(forged);
  }
});

type Forged = {
  readonly which: { readonly root: string; readonly store: string; readonly cwd: string };
  readonly base: string;
  readonly outside: string;
  readonly log: string;
};

/** A workspace with one honest turn, beside what it must not reach. */
async function withTurn(): Promise<Forged> {
  const base = temporary();
  const outside = tree(join(base, 'outside'), { 'a.txt': 'old', deep: { 'a.txt': 'old' } });
  const root = tree(join(base, 'ws'), {
    'a.txt': 'old',
    dir: { 'a.txt': 'old' },
    link: symlink(outside),
  });
  tree(base, { 'outside.txt': 'old' });
  const which = { root, store: join(base, 'store'), cwd: root };
  const turn = await openTurn(which);
  turn.write('a.txt', 'new');
  await turn.close();
  return { which, base, outside, log: join(which.store, 'log') };
}

/** Writes a line whose hashes fit: as the step's changes, or as the journal of a rewind that died. */
async function forge(
  how: 'inline' | 'detail' | 'journal' | 'journal in a file',
  paths: readonly string[],
  want: Pick<Change, 'before' | 'after'>,
): Promise<Forged> {
  const forged = await withTurn();
  const { log, which } = forged;
  const contents = readLog(log);
  const changes: Change[] = paths.map((path) => ({ path: path as RelPath, ...want }));
  const inFile = how === 'detail' || how === 'journal in a file';
  const ref: CloseRecord['changes'] = inFile
    ? {
        kind: 'detail',
        sha256: writeDetail(join(which.store, 'details'), encodeChanges(changes)),
        count: 1,
      }
    : { kind: 'inline', changes };
  if (how === 'journal' || how === 'journal in a file') {
    // Of a process that is gone: the next command finishes what it had begun.
    const journal: RewindRecord = {
      type: 'rewind',
      step: 9,
      kind: 'rewind',
      at: new Date().toISOString(),
      owner: { pid: 1, start: 'gone', boot: 'gone' },
      turn: 't1',
      turns: ['t1'],
      undoes: [1],
      partial: false,
      whole: true,
      times: 'now',
      plan: reversed(ref),
    };
    appendRecord(log, contents, journal);
    return forged;
  }
  const close = contents.records.findLast((record) => record.type === 'close');
  if (close?.type !== 'close') throw new Error('no step was closed');
  fs.rmSync(log);
  let rebuilt = readLog(log);
  for (const record of contents.records) {
    rebuilt = appendRecord(log, rebuilt, record === close ? { ...close, changes: ref } : record);
  }
  return forged;
}

/** A journal says what stands and what shall stand; a step, what stood and what was left. */
function reversed(ref: CloseRecord['changes']): RewindRecord['plan'] {
  if (ref.kind === 'detail') return ref;
  const changes = ref.changes.map(({ path, before, after }) => ({
    path,
    before: after,
    after: before,
  }));
  return { kind: 'inline', changes };
}

async function expectDamaged({ which, base }: Forged, inLog = true): Promise<void> {
  const before = withTimes(base);
  for (const ask of [{}, { turn: 't1' }, { force: true }, { paths: ['a.txt'] }]) {
    await expect(use(which, (store) => store.rewind(ask))).rejects.toThrow(DAMAGED);
  }
  // A rewind that seems to have been cut off is not finished by a dry run, so it is named instead.
  await expect(use(which, (store) => store.planRewind())).rejects.toMatchObject({
    code: expect.stringMatching(/^(damaged|busy)$/),
  });
  // Changes in a file of their own are read by whoever needs them.
  if (inLog) {
    await expect(use(which, (store) => store.redo())).rejects.toThrow(DAMAGED);
    await expect(openTurn(which)).rejects.toThrow(DAMAGED);
  }
  expect(withTimes(base)).toEqual(before);
}

/** Who holds the store comes and goes: that is no trace of what a line wanted. */
const LOCKS = 'store/locks';

const DAMAGED = expect.objectContaining({ code: 'damaged' });

/** What a rewind or a redo does is not looked at here, nor whether it refuses: only where it reaches. */
async function attempt(
  which: Forged['which'],
  run: (store: Store) => Promise<unknown>,
): Promise<void> {
  try {
    await use(which, run);
  } catch (error) {
    if (!(error instanceof PreimageError)) throw error;
  }
}

async function use<T>(which: Forged['which'], run: (store: Store) => Promise<T>): Promise<T> {
  const store = openStore(which);
  try {
    return await run(store);
  } finally {
    store.close();
  }
}

function file(data: string) {
  const sha256 = crypto.createHash('sha256').update(data).digest('hex');
  const [uid, gid] = [process.getuid?.() ?? 0, process.getgid?.() ?? 0];
  const bytes = data.length;
  return {
    type: 'file',
    sha256,
    bytes,
    mode: 0o644,
    uid,
    gid,
    mtimeNs: 0n,
    link: '',
    sparse: false,
  } as const;
}

function withTimes(root: string): Snapshot {
  return Object.fromEntries(
    Object.entries(snapshot(root)).map(([name, text]) => {
      if (name === LOCKS) return [name, text];
      const { mtimeNs, ctimeNs } = fs.lstatSync(join(root, name), { bigint: true });
      return [name, `${text} ${mtimeNs} ${ctimeNs}`];
    }),
  );
}
