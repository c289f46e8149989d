import fs from 'node:fs';
import os from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect } from 'vitest';
import {
  type Image,
  type OpenTurn,
  openStore,
  openTurn,
  PreimageError,
  type RewindResult,
  type TurnReport,
  verifyStore,
  workspaceStatus,
} from '../../src/index.js';
import { snapshot } from '../support/tree.js';
import { type Disk, describeDisk, readDisk } from './disk.js';
import { killWatch } from './killed-watch.js';
import { HOMES, LIMIT, Oracle, type Prediction, type WorkStep } from './oracle.js';
import {
  anyMaking,
  anyOperation,
  type Operation,
  resolveSpot,
  runShell,
  type Spot,
} from './shell.js';

/** One thing that a user or an agent does. */
export type Command =
  /** By hand, or within whatever steps are open. */
  | { readonly do: 'shell'; readonly operations: readonly Operation[] }
  /** `preimage watch`: open, run, close. */
  | { readonly do: 'watch'; readonly turn: TurnChoice; readonly operations: readonly Operation[] }
  | { readonly do: 'open'; readonly turn: TurnChoice }
  | { readonly do: 'close'; readonly which: number }
  /** The library's own calls in an open step. */
  | { readonly do: 'capture' | 'write'; readonly which: number; readonly at: Spot }
  | ({ readonly do: 'rewind'; readonly turn: number | 'newest' } & Asked)
  | ({ readonly do: 'dry-run'; readonly turn: number | 'newest' } & Asked)
  | { readonly do: 'prune'; readonly keep: number }
  | { readonly do: 'redo'; readonly force: boolean; readonly atOnce: boolean }
  /** `preimage watch`, ended by SIGKILL with its command after so many milliseconds. */
  | { readonly do: 'killed'; readonly after: number };

type TurnChoice = 'next' | 'x' | 'y';
type Asked = {
  readonly paths: readonly number[];
  readonly force: boolean;
  /** Without closing first what is open. */
  readonly atOnce: boolean;
};

const operations = fc.array(anyOperation, { minLength: 1, maxLength: 8, size: 'max' });
const turn: fc.Arbitrary<TurnChoice> = fc.constantFrom('next', 'next', 'next', 'x', 'y');
const which = fc.nat({ max: 3 });
const asked = {
  turn: fc.oneof(fc.constant('newest' as const), fc.nat({ max: 5 })),
  paths: fc.oneof(
    fc.constant([]),
    fc.constant([]),
    fc.array(fc.nat({ max: 20 }), { minLength: 1, maxLength: 2 }),
  ),
  force: fc.oneof(fc.constant(false), fc.constant(false), fc.constant(true)),
  atOnce: fc.oneof({ weight: 7, arbitrary: fc.constant(false) }, fc.constant(true)),
};

export const anyCommand: fc.Arbitrary<Command> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('watch' as const), turn, operations }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('shell' as const), operations }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('open' as const), turn }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('close' as const), which }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constantFrom('capture' as const, 'write' as const),
      which,
      at: fc.record({ nth: fc.nat({ max: 15 }) }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('prune' as const), keep: fc.nat({ max: 3 }) }),
  },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('rewind' as const), ...asked }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('dry-run' as const), ...asked }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('redo' as const),
      force: asked.force,
      atOnce: asked.atOnce,
    }),
  },
);

/** A life of a workspace: what stood first, then what happened. */
export const anyLife: fc.Arbitrary<readonly Command[]> = fc
  .tuple(
    fc.array(anyMaking, { minLength: 8, maxLength: 20, size: 'max' }),
    fc.array(anyCommand, { minLength: 3, maxLength: 24, size: 'max' }),
  )
  .map(([first, rest]) => [{ do: 'shell', operations: first }, ...rest]);

/** What all lives together did. */
export const figures = {
  worlds: 0,
  kills: 0,
  operations: 0,
  steps: 0,
  rewinds: 0,
  prunes: 0,
  outcomes: { restored: 0, deleted: 0, unchanged: 0, conflict: 0, skipped: 0, failed: 0 },
};

/** Lives a life in a world of its own, on the real disk and in the model. */
export async function live(commands: readonly Command[]): Promise<void> {
  const world = new World();
  try {
    for (const command of commands) await world.run(command);
    await world.end();
    // Nearly all of it was done without a pause: let the test's own clock and reports have their turn.
    await new Promise((resolve) => setImmediate(resolve));
  } finally {
    world.remove();
  }
}

class World {
  readonly #bases: readonly string[];
  readonly #root: string;
  readonly #outside: string;
  readonly #store: string;
  readonly #oracle = new Oracle();
  #kills = 0;
  readonly #sessions: { readonly turn: OpenTurn; readonly step: WorkStep }[] = [];

  constructor() {
    // The workspace and its store are on different devices, where there are two.
    const [base = '', storeBase = ''] = [0, 1].map((i) => {
      const home = HOMES[(figures.worlds + i) % HOMES.length] ?? os.tmpdir();
      return fs.realpathSync(fs.mkdtempSync(join(home, 'preimage-model-')));
    });
    this.#bases = [base, storeBase];
    this.#root = join(base, 'ws');
    this.#outside = join(base, 'outside');
    this.#store = join(storeBase, 'store');
    fs.mkdirSync(this.#root);
    fs.mkdirSync(this.#outside);
    fs.writeFileSync(join(this.#outside, 'f'), 'outside');
    figures.worlds += 1;
  }

  remove(): void {
    for (const base of this.#bases) fs.rmSync(base, { recursive: true, force: true });
  }

  async run(command: Command): Promise<void> {
    switch (command.do) {
      case 'shell':
        this.#shell(command.operations);
        return;
      case 'watch':
        await this.#open(command.turn);
        this.#shell(command.operations);
        await this.#close(this.#sessions.length - 1);
        return;
      case 'open':
        if (this.#sessions.length < MOST_OPEN) await this.#open(command.turn);
        return;
      case 'close':
        await this.#close(command.which % Math.max(1, this.#sessions.length));
        return;
      case 'capture':
      case 'write':
        this.#byName(command.do, command.which, command.at);
        return;
      case 'rewind':
      case 'dry-run':
        if (!command.atOnce) await this.#closeAll();
        await this.#rewind(command);
        return;
      case 'redo':
        if (!command.atOnce) await this.#closeAll();
        await this.#redo(command.force);
        return;
      case 'prune':
        await this.#prune(command.keep + 1);
        return;
      case 'killed':
        await this.#killed(command.after);
        return;
    }
  }

  /** All is closed, every pre-image is read, and the last word of the history is compared. */
  async end(): Promise<void> {
    await this.#closeAll();
    this.#compareTurns();
    if (this.#oracle.turns().length === 0) return;
    const store = openStore({ root: this.#root, store: this.#store });
    for (const { turn } of this.#oracle.turns()) {
      const wanted = this.#oracle.checkpoint(turn);
      const { files } = store.show(turn);
      expect(files.map(({ path }) => path).sort(), turn).toEqual([...wanted.keys()].sort());
      for (const { path, before, after } of files) {
        const change = wanted.get(path);
        const read = (image: Image): unknown => describeImage(image, (file) => store.read(file));
        expect([path, read(before), read(after)]).toEqual([
          path,
          describeWanted(change?.before),
          describeWanted(change?.after),
        ]);
      }
    }
    store.close();
  }

  #shell(list: readonly Operation[]): void {
    runShell({ root: this.#root, outside: this.#outside }, list);
    figures.operations += list.length;
  }

  async #open(choice: TurnChoice): Promise<void> {
    const id = choice === 'next' ? this.#oracle.nextTurn() : choice;
    const before = readDisk(this.#root);
    const options = { root: this.#root, store: this.#store, maxFile: LIMIT };
    const turn = await openTurn(choice === 'next' ? options : { ...options, turn: id });
    expect(turn.turn).toBe(id);
    expect(stamps(readDisk(this.#root)), 'an open writes nothing').toEqual(stamps(before));
    this.#sessions.push({ turn, step: this.#oracle.open(id, before) });
    figures.steps += 1;
  }

  async #close(index: number): Promise<void> {
    const [session] = this.#sessions.splice(index, 1);
    if (session === undefined) return;
    const disk = readDisk(this.#root);
    const { changes } = await session.turn.close();
    expect(stamps(readDisk(this.#root)), 'a close writes nothing').toEqual(stamps(disk));
    const wanted = this.#oracle.close(session.step, disk);
    expect(changes.map(({ path }) => path).sort()).toEqual([...wanted.keys()].sort());
  }

  get #killedFirst(): boolean {
    return this.#kills > 0 && this.#oracle.turns().length === 0;
  }

  async #killed(after: number): Promise<void> {
    this.#kills += 1;
    const id = this.#oracle.nextTurn();
    const before = readDisk(this.#root);
    await killWatch({ root: this.#root, store: this.#store, after });
    const { recovered, openTurns } = await workspaceStatus({
      root: this.#root,
      store: this.#store,
    });
    expect(openTurns).toHaveLength(this.#sessions.length);
    const disk = readDisk(this.#root);
    figures.kills += 1;
    const store = this.#oracle.turns().length > 0 || recovered.length > 0 ? 'there' : 'perhaps';
    const report = await this.#reportOf(id, store);
    if (report === 'none') {
      expect(stamps(disk), 'no command runs before its step is open').toEqual(stamps(before));
      return;
    }
    const wanted = this.#oracle.close(this.#oracle.open(id, before), disk);
    expect(report.files.map(({ path }) => path).sort()).toEqual([...wanted.keys()].sort());
    figures.steps += 1;
  }

  async #reportOf(id: string, store: 'there' | 'perhaps'): Promise<TurnReport | 'none'> {
    try {
      return await this.#withStore(async (history) =>
        history.list().some(({ turn }) => turn === id) ? history.show(id) : 'none',
      );
    } catch (error) {
      if (store === 'perhaps' && error instanceof PreimageError && error.code === 'no-such-turn') {
        return 'none';
      }
      throw error;
    }
  }

  async #closeAll(): Promise<void> {
    while (this.#sessions.length > 0) await this.#close(0);
  }

  #byName(how: 'capture' | 'write', which: number, at: Spot): void {
    const session = this.#sessions[which % Math.max(1, this.#sessions.length)];
    const disk = readDisk(this.#root);
    const path = resolveSpot(disk, at);
    if (session === undefined || !isText(path)) return;
    this.#oracle.capture(session.step, path, disk);
    if (how === 'capture' || disk.get(path)?.kind !== 'file') session.turn.capture(path);
    else session.turn.write(path, 'written');
  }

  async #rewind(command: Extract<Command, { do: 'rewind' | 'dry-run' }>): Promise<void> {
    const turns = this.#oracle.turns().reverse();
    const turn =
      command.turn === 'newest'
        ? 'newest'
        : (turns[command.turn % Math.max(1, turns.length)]?.turn ?? 'none');
    const touched = this.#oracle.touched().filter((path) => isText(path) && path !== '');
    const paths = command.paths.flatMap((n) => touched[n % Math.max(1, touched.length)] ?? []);
    if (command.paths.length > 0 && paths.length === 0) return;
    const ask = { paths, force: command.force };
    const disk = readDisk(this.#root);
    const wanted = this.#oracle.rewind(turn, ask, disk);
    const request = { ...ask, ...(turn === 'newest' ? {} : { turn }) };
    await this.#try(wanted, {
      disk,
      dry: () => this.#withStore((store) => store.planRewind(request)),
      wet:
        command.do === 'dry-run' ? 'none' : () => this.#withStore((store) => store.rewind(request)),
    });
  }

  /** Also while steps are open: those stay, and what they began from. */
  async #prune(keep: number): Promise<void> {
    if (this.#oracle.turns().length === 0) return;
    const disk = readDisk(this.#root);
    const { turns } = await this.#withStore(async (store) => store.prune({ keep }));
    expect(stamps(readDisk(this.#root)), 'a prune writes nothing').toEqual(stamps(disk));
    expect(this.#oracle.prune(turns, keep)).toBe('');
    this.#compareTurns();
    expect(verifyStore({ root: this.#root, store: this.#store })).toMatchObject({ findings: [] });
    figures.prunes += 1;
  }

  async #redo(force: boolean): Promise<void> {
    const disk = readDisk(this.#root);
    await this.#try(this.#oracle.redo({ paths: [], force }, disk), {
      disk,
      dry: 'none',
      wet: () => this.#withStore((store) => store.redo({ force })),
    });
  }

  async #try(
    wanted: Prediction | string,
    {
      disk,
      dry,
      wet,
    }: { readonly disk: Disk; readonly dry: Attempt | 'none'; readonly wet: Attempt | 'none' },
  ): Promise<void> {
    const refusal = this.#refusal(wanted);
    for (const [attempt, isDry] of [
      [dry, true],
      [wet, false],
    ] as const) {
      if (attempt === 'none') continue;
      if (refusal !== '') {
        const code = await codeOf(attempt);
        // A watch that was killed before its step was open may have made the store, or not.
        const same = refusal === 'no-such-turn' && code === 'nothing-to-do' && this.#killedFirst;
        expect(same ? refusal : code).toBe(refusal);
        expect(stamps(readDisk(this.#root))).toEqual(stamps(disk));
      } else if (typeof wanted === 'object') {
        const outside = snapshot(this.#outside);
        const result = await attempt();
        const outcomes = new Map(
          result.outcomes.map(({ path, outcome }) => [path as string, outcome]),
        );
        expect(sorted(outcomes)).toEqual(sorted(wanted.outcomes));
        expect(result.complete).toBe(wanted.complete);
        if (wanted.turns.length > 0) expect(result.turns).toEqual(wanted.turns);
        expect(snapshot(this.#outside), 'nothing outside changes').toEqual(outside);
        if (isDry) {
          expect(stamps(readDisk(this.#root)), 'a dry run writes nothing').toEqual(stamps(disk));
        } else {
          this.#compareTree(wanted, disk);
          wanted.record();
          figures.rewinds += 1;
          for (const { outcome } of result.outcomes) figures.outcomes[outcome] += 1;
          this.#compareTurns();
        }
      }
    }
  }

  #refusal(wanted: Prediction | string): string {
    if (this.#oracle.turns().length === 0) return 'no-such-turn';
    if (this.#oracle.openSteps().length > 0) return 'busy';
    if (wanted === 'nothing') return 'nothing-to-do';
    return typeof wanted === 'string' ? wanted : '';
  }

  #compareTree(wanted: Prediction, before: Disk): void {
    expect(snapshot(this.#root)).toEqual(describeDisk(wanted.tree));
    const after = readDisk(this.#root);
    for (const names of wanted.groups) {
      const inodes = new Set(names.map((name) => inodeOf(after, name)));
      expect([names, inodes.size], 'names of one file').toEqual([names, 1]);
    }
    const grouped = new Set(wanted.groups.flat());
    for (const [path, outcome] of wanted.outcomes) {
      const [then, now] = [before.get(path), after.get(path)];
      if (now?.kind !== 'file') continue;
      // What had one name is a file of its own again; what was left alone is the file that it was.
      if (outcome === 'restored')
        expect([path, grouped.has(path) || now.links]).toEqual([path, grouped.has(path) || 1]);
      else if (then?.kind === 'file') expect(now.inode).toBe(then.inode);
    }
  }

  #compareTurns(): void {
    if (this.#oracle.turns().length === 0) return;
    const store = openStore({ root: this.#root, store: this.#store });
    const turns = store.list().map(({ turn, status }) => ({
      turn,
      status: status === 'recovered' ? 'closed' : status,
    }));
    store.close();
    expect(turns).toEqual(this.#oracle.turns());
  }

  async #withStore<T>(run: (store: ReturnType<typeof openStore>) => Promise<T>): Promise<T> {
    const store = openStore({ root: this.#root, store: this.#store, cwd: this.#root });
    try {
      return await run(store);
    } finally {
      store.close();
    }
  }
}

type Attempt = () => Promise<RewindResult>;

/** Steps that are open at the same time at the most. */
const MOST_OPEN = 3;

async function codeOf(attempt: Attempt): Promise<string> {
  try {
    await attempt();
    return '';
  } catch (error) {
    if (error instanceof PreimageError) return error.code;
    throw error;
  }
}

function stamps(disk: Disk): Record<string, string> {
  return Object.fromEntries([...disk].map(([path, { stamp }]) => [path, stamp]));
}

function sorted<T>(map: ReadonlyMap<string, T>): [string, T][] {
  return [...map].sort(([a], [b]) => (a < b ? -1 : 1));
}

function inodeOf(disk: Disk, path: string): string {
  const standing = disk.get(path);
  return standing?.kind === 'file' ? standing.inode : 'none';
}

/** A name that is not UTF-8 cannot be given as text. */
function isText(path: string): boolean {
  return (
    Buffer.from(Buffer.from(path, 'latin1').toString('utf8'), 'utf8').toString('latin1') === path
  );
}

type FileOf = Extract<Image, { type: 'file' }>;

function describeImage(image: Image, read: (file: FileOf) => Buffer): unknown {
  if (image.kind !== 'content') return image.kind;
  if (image.type === 'symlink') return ['symlink', image.target];
  if (image.type === 'file') return ['file', image.mode, read(image).toString('latin1')];
  return [image.type, image.mode];
}

function describeWanted(
  image: ReturnType<Oracle['checkpoint']> extends ReadonlyMap<string, { before: infer I }>
    ? I | undefined
    : never,
): unknown {
  if (image === undefined || image.kind === 'absent' || image.kind === 'skipped')
    return image?.kind;
  if (image.kind === 'symlink') return ['symlink', image.target];
  if (image.kind === 'file') return ['file', image.mode, image.data];
  return [image.kind, image.mode];
}
