import fs from 'node:fs';
import os from 'node:os';
import type { OutcomeKind } from '../../src/index.js';
import { type Described, type Disk, isBelow, parentsOf, type Standing } from './disk.js';

/*
 * The model: what CONTRACT.md and DESIGN.md ("Steps that overlap", "Rewind") say of turns and of
 * rewinds, over trees in memory. It is written from those texts and shares no code with src. Where
 * they leave something open, the reading chosen is marked `READING`.
 */

/** What stood at a path, as far as it was captured. */
type Image =
  | { readonly kind: 'absent' }
  | { readonly kind: 'skipped'; readonly why: 'left-out' | 'too-large'; readonly stamp: string }
  | Content;

type Content = Described & {
  /** For a file that had several names: its inode, and its time of last change. */
  readonly link?: string;
  readonly mtime?: bigint;
};

type Change = { readonly before: Image; readonly after: Image };
type Changes = ReadonlyMap<string, Change>;

/** A command, a session of the library or a hook pair. */
export type WorkStep = {
  readonly kind: 'work';
  readonly turn: string;
  readonly opened: number;
  readonly openDisk: Disk;
  /** Pre-images asked for by name. */
  readonly captures: Map<string, Image>;
  closed: number;
  changes: Changes;
  undone: boolean;
};

type RewindStep = {
  readonly kind: 'rewind';
  readonly opened: number;
  readonly changes: Changes;
  /** Steps that it undid, wholly or in part. */
  readonly undid: readonly WorkStep[];
  /** A rewind that some redo has taken back, or a redo. */
  over: boolean;
  /** The rewind that a redo took back, or tried to. */
  readonly takes: RewindStep | undefined;
};

/** What is asked of a rewind. */
export type Ask = { readonly paths: readonly string[]; readonly force: boolean };

/** What a rewind must come to. */
export type Prediction = {
  readonly turns: readonly string[];
  readonly outcomes: ReadonlyMap<string, OutcomeKind>;
  readonly complete: boolean;
  /** The whole tree after it. */
  readonly tree: ReadonlyMap<string, Described>;
  /** Sets of paths that must be names of one file after it. */
  readonly groups: readonly (readonly string[])[];
  /** Enters it into the model's history. */
  readonly record: () => void;
};

/** Memory is faster, a disk gives inode numbers out again: they take turns. */
export const HOMES = fs.existsSync('/dev/shm') ? ['/dev/shm', os.tmpdir()] : [os.tmpdir()];

/**
 * Files over this many bytes are not captured: what the runs are opened with. That holds only where the
 * store is on another device than the workspace; else such a file is kept by a hard link, which is for
 * other tests.
 */
export const LIMIT = new Set(HOMES.map((home) => fs.statSync(home).dev)).size > 1 ? 64 : 2 ** 30;
/** A directory of this name is left out by rule. */
export const LEFT_OUT = 'node_modules';

export class Oracle {
  readonly #steps: (WorkStep | RewindStep)[] = [];
  #clock = 0;
  /** The largest number of an id of the form t1: none is given out again, also after a prune. */
  #lastId = 0;
  /** The workspace as last scanned, without what is left out. */
  #scanned: Disk = new Map();

  /** The next free id of the form t1, t2, …. */
  nextTurn(): string {
    return `t${this.#lastId + 1}`;
  }

  open(turn: string, disk: Disk): WorkStep {
    this.#scanned = captured(disk);
    this.#lastId = Math.max(this.#lastId, Number(/^t(\d+)$/.exec(turn)?.[1] ?? 0));
    const step: WorkStep = {
      kind: 'work',
      turn,
      opened: this.#clock++,
      openDisk: disk,
      captures: new Map(),
      closed: Number.POSITIVE_INFINITY,
      changes: new Map(),
      undone: false,
    };
    this.#steps.push(step);
    return step;
  }

  /** A path captured by name: only where the opening scan has not captured it, and once. */
  capture(step: WorkStep, path: string, disk: Disk): void {
    if (step.captures.has(path) || imageIn(step.openDisk, path).kind !== 'skipped') return;
    step.captures.set(path, lookAt(disk, path));
  }

  close(step: WorkStep, disk: Disk): Changes {
    this.#scanned = captured(disk);
    const changes = diff(step.openDisk, disk);
    for (const [path, before] of step.captures) {
      changes.set(path, { before, after: lookAt(disk, path) });
    }
    step.closed = this.#clock++;
    step.changes = changes;
    return changes;
  }

  openSteps(): WorkStep[] {
    return this.#work().filter(({ closed }) => closed === Number.POSITIVE_INFINITY);
  }

  /** Turns, newest first, with how they stand. */
  turns(): { readonly turn: string; readonly status: 'open' | 'closed' | 'rewound' }[] {
    const ids = [...new Set(this.#work().map(({ turn }) => turn))];
    return ids.reverse().map((turn) => {
      const steps = this.#work().filter((step) => step.turn === turn);
      if (steps.some(({ closed }) => closed === Number.POSITIVE_INFINITY))
        return { turn, status: 'open' };
      return { turn, status: steps.every(({ undone }) => undone) ? 'rewound' : 'closed' };
    });
  }

  /**
   * A prune that dropped these turns, oldest first. READING: what was done before the first step of those
   * that stay is forgotten with them, rewinds included. Says what is wrong with the choice.
   */
  prune(dropped: readonly string[], keep: number): string {
    const ids = this.turns().map(({ turn }) => turn);
    const kept = ids.filter((turn) => !dropped.includes(turn));
    if (kept.length < Math.min(keep, ids.length)) return 'it dropped too many';
    if (ids.slice(0, kept.length).join() !== kept.join()) return 'it dropped newer ones first';
    if (dropped.length === 0) return '';
    const steps = this.#work().filter(({ turn }) => kept.includes(turn));
    const first = Math.min(...steps.map(({ opened }) => opened));
    const stay = this.#steps.filter(({ opened }) => opened >= first);
    this.#steps.splice(0, this.#steps.length, ...stay);
    return '';
  }

  /** A turn's checkpoint: the squash of its steps, without what came out as it was. */
  checkpoint(turn: string): Changes {
    const steps = this.#work().filter((step) => step.turn === turn);
    const all = squash(steps);
    return new Map([...all].filter(([, { before, after }]) => !same(before, after)));
  }

  /** What was ever touched: from these paths a rewind of some paths chooses. */
  touched(): string[] {
    return [...new Set(this.#steps.flatMap(({ changes }) => [...changes.keys()]))].sort();
  }

  /**
   * A rewind. READING: turns count as a whole, so a turn with steps before and after T's, or between
   * them, overlaps T. Steps that a rewind has undone are out, as if they had never been.
   */
  rewind(turn: string | 'newest', ask: Ask, disk: Disk): Prediction | 'no-such-turn' | 'nothing' {
    const wanted =
      turn === 'newest' ? this.turns().find(({ status }) => status !== 'rewound')?.turn : turn;
    if (wanted === undefined) return 'nothing';
    const all = this.#work().filter((step) => step.turn === wanted);
    if (all.length === 0) return 'no-such-turn';
    const own = all.filter(({ undone }) => !undone);
    if (own.length === 0) return 'nothing';
    const from = Math.min(...own.map(({ opened }) => opened));
    const until = Math.max(...own.map(({ closed }) => closed));
    const live = this.#work().filter(({ undone }) => !undone);
    const later = new Set<string>();
    const concurrent = new Set<string>();
    for (const id of new Set(live.map((step) => step.turn))) {
      const steps = live.filter((step) => step.turn === id);
      if (id === wanted || Math.max(...steps.map(({ closed }) => closed)) < from) continue;
      const opened = Math.min(...steps.map((step) => step.opened));
      (opened > until ? later : concurrent).add(id);
    }
    const undone = live.filter((step) => step.turn === wanted || later.has(step.turn));
    const contested = new Set(
      live
        .filter((step) => concurrent.has(step.turn) && step.closed > from)
        .flatMap(({ changes }) => [...changes.keys()]),
    );
    const chain = this.#steps.filter((step) => step.kind === 'rewind' || undone.includes(step));
    const turns = this.turns().flatMap(({ turn: id }) =>
      id === wanted || later.has(id) ? [id] : [],
    );
    const putBack = this.#putBack(from);
    const changes = squash(chain);
    const job = { turns, undid: undone, ask, contested, disk, changes, putBack };
    const predicted = this.#carryOut(job);
    // READING: paths of which none was changed are nothing to do.
    return ask.paths.length > 0 && predicted.outcomes.size === 0 ? 'nothing' : predicted;
  }

  /** Takes the last rewind back that no redo has taken back. */
  redo(ask: Ask, disk: Disk): Prediction | 'nothing' {
    const last = this.#steps.findLast(
      (step): step is RewindStep => step.kind === 'rewind' && !step.over && step.changes.size > 0,
    );
    if (last === undefined) return 'nothing';
    const changes = new Map(
      [...last.changes].map(([path, change]) => [path, { ...change, foreign: false }]),
    );
    // READING: what an earlier try has brought back is what is to stand there by now.
    for (const step of this.#steps) {
      if (step.kind !== 'rewind' || step.takes !== last) continue;
      for (const [path, { before, after }] of step.changes) {
        const sofar = changes.get(path);
        if (sofar !== undefined && same(sofar.after, before))
          changes.set(path, { ...sofar, after });
      }
    }
    const job = { turns: [], undid: [], ask, contested: new Set<string>(), disk, changes };
    return this.#carryOut({ ...job, putBack: this.#putBack(last.opened), takesBack: last });
  }

  #carryOut(job: {
    readonly turns: readonly string[];
    readonly undid: readonly WorkStep[];
    readonly ask: Ask;
    readonly contested: ReadonlySet<string>;
    readonly disk: Disk;
    readonly changes: ReadonlyMap<string, Squashed>;
    readonly putBack: ReadonlyMap<string, Content>;
    readonly takesBack?: RewindStep;
  }): Prediction {
    const { turns, undid, ask, disk, takesBack } = job;
    const { outcomes, acts } = plan(job);
    const names = new Map<string, Image>(job.putBack);
    for (const [path, outcome] of outcomes) {
      const before = job.changes.get(path)?.before;
      if (outcome === 'unchanged' && before !== undefined) names.set(path, before);
    }
    const left = [...outcomes.values()].some((outcome) => outcome === 'conflict');
    const record = (): void => {
      const entered = [...acts].map(
        ([path, to]) => [path, { before: lookAt(disk, path), after: to }] as const,
      );
      const whole = !left && ask.paths.length === 0;
      if (takesBack !== undefined) {
        if (!left) takesBack.over = true;
        // Something of it is there again, whichever rewind had finished the undoing.
        if (!left || entered.length > 0) for (const step of takesBack.undid) step.undone = false;
      }
      if (takesBack === undefined && whole) for (const step of undid) step.undone = true;
      this.#steps.push({
        kind: 'rewind',
        opened: this.#clock++,
        changes: new Map(entered),
        undid,
        over: takesBack !== undefined,
        takes: takesBack,
      });
    };
    return {
      turns,
      outcomes,
      complete: [...outcomes.values()].every((o) => o !== 'conflict' && o !== 'skipped'),
      ...applied(disk, acts, { stood: this.#scanned, names }),
      record,
    };
  }

  /**
   * What rewinds since then have put back and nothing has changed after them. READING: a name that is
   * put back later becomes a name of the same file again.
   */
  #putBack(since: number): Map<string, Content> {
    const put = new Map<string, Content>();
    for (const step of this.#steps.filter(({ opened }) => opened >= since)) {
      for (const [path, { after }] of step.changes) {
        put.delete(path);
        if (step.kind === 'rewind' && after.kind === 'file') put.set(path, after);
      }
    }
    return put;
  }

  #work(): WorkStep[] {
    return this.#steps.filter((step) => step.kind === 'work');
  }
}

/** Says what was captured of a path: skipped is never absent. */
function imageIn(disk: Disk, path: string): Image {
  const hidden = parentsOf(path).some((parent) => isLeftOut(parent, disk.get(parent)));
  if (hidden) return { kind: 'skipped', why: 'left-out', stamp: '' };
  const standing = disk.get(path);
  if (standing === undefined) return { kind: 'absent' };
  if (isLeftOut(path, standing)) return { kind: 'skipped', why: 'left-out', stamp: standing.stamp };
  if (standing.kind === 'file' && standing.data.length > LIMIT) {
    return { kind: 'skipped', why: 'too-large', stamp: standing.stamp };
  }
  return contentOf(standing);
}

/** What a scan captures. */
function captured(disk: Disk): Disk {
  return new Map([...disk].filter(([path]) => imageIn(disk, path).kind !== 'skipped'));
}

/** What stands there now: one path that is looked at by itself is read whatever the rules say. */
function lookAt(disk: Disk, path: string): { kind: 'absent' } | Content {
  const standing = disk.get(path);
  return standing === undefined ? { kind: 'absent' } : contentOf(standing);
}

function contentOf(standing: Standing): Content {
  if (standing.kind !== 'file') return standing;
  const { data, mode, owner, inode, links, mtime } = standing;
  return { kind: 'file', data, mode, owner, ...(links > 1 ? { link: inode, mtime } : {}) };
}

function isLeftOut(path: string, standing: Standing | undefined): boolean {
  return standing?.kind === 'directory' && path.slice(path.lastIndexOf('/') + 1) === LEFT_OUT;
}

/** Same type, bytes, permission bits, owner, target; what was not captured by its stat key. */
function same(a: Image, b: Image): boolean {
  switch (a.kind) {
    case 'absent':
      return b.kind === 'absent';
    case 'skipped':
      return b.kind === 'skipped' && a.stamp !== '' && a.stamp === b.stamp;
    case 'file':
      return b.kind === 'file' && a.data === b.data && a.mode === b.mode && a.owner === b.owner;
    case 'directory':
    case 'fifo':
      return b.kind === a.kind && a.mode === b.mode && a.owner === b.owner;
    case 'symlink':
      return b.kind === 'symlink' && a.target === b.target && a.owner === b.owner;
  }
}

/** What differs; in a directory that is left out nothing is looked at. */
function diff(before: Disk, after: Disk): Map<string, Change> {
  const changes = new Map<string, Change>();
  for (const path of new Set([...before.keys(), ...after.keys()])) {
    const inLeftOut = [before, after].some(
      (disk) => disk.has(path) && parentsOf(path).some((up) => isLeftOut(up, disk.get(up))),
    );
    if (inLeftOut) continue;
    const change = { before: imageIn(before, path), after: imageIn(after, path) };
    if (!same(change.before, change.after)) changes.set(path, change);
  }
  return changes;
}

type Squashed = Change & { readonly foreign: boolean };

/**
 * The oldest pre-image and the newest post-image. Foreign where the path was not, when a step opened,
 * what the steps before it had left, and none of them was still open. READING: a rewind between them
 * is our own hand: where it starts from what was left, what it leaves goes on from there.
 */
function squash(steps: readonly (WorkStep | RewindStep)[]): Map<string, Squashed> {
  const out = new Map<string, Squashed & { readonly until: number }>();
  for (const step of steps) {
    for (const [path, { before, after }] of step.changes) {
      const sofar = out.get(path);
      if (step.kind === 'rewind') {
        if (sofar !== undefined && same(sofar.after, before)) out.set(path, { ...sofar, after });
      } else if (sofar === undefined) {
        out.set(path, { before, after, foreign: false, until: step.closed });
      } else {
        const overlaps = step.opened < sofar.until;
        out.set(path, {
          before: sofar.before,
          after: overlaps && step.closed < sofar.until ? sofar.after : after,
          foreign: sofar.foreign || (!overlaps && !same(sofar.after, before)),
          until: Math.max(sofar.until, step.closed),
        });
      }
    }
  }
  return new Map(out);
}

type Verdict = OutcomeKind | { readonly to: { readonly kind: 'absent' } | Content };
type Job = {
  readonly ask: Ask;
  readonly contested: ReadonlySet<string>;
  readonly disk: Disk;
  readonly changes: ReadonlyMap<string, Squashed>;
};
type Acts = Map<string, { readonly kind: 'absent' } | Content>;

function plan(job: Job): { readonly outcomes: Map<string, OutcomeKind>; readonly acts: Acts } {
  const { disk, ask } = job;
  const verdicts = new Map<string, Verdict>();
  for (const [path, change] of job.changes) {
    if (isAsked(path, change, ask.paths)) verdicts.set(path, judge(path, change, job));
  }
  const target = (path: string): Content | { kind: 'absent' } | undefined => {
    const verdict = verdicts.get(path);
    return typeof verdict === 'object' ? verdict.to : undefined;
  };
  // From the root down: what is put back needs a directory to stand in.
  for (const path of [...verdicts.keys()].sort(byDepth)) {
    const to = target(path);
    if (to === undefined || to.kind === 'absent' || path === '') continue;
    const missing: string[] = [];
    let blocked = false;
    for (const up of parentsOf(path)) {
      if (target(up)?.kind === 'directory' || disk.get(up)?.kind === 'directory') continue;
      if (disk.has(up) || (target(up) !== undefined && target(up)?.kind !== 'absent'))
        blocked = true;
      missing.push(up);
    }
    if (missing.length === 0) continue;
    if (blocked || !ask.force) verdicts.set(path, 'conflict');
    else {
      for (const up of missing) {
        verdicts.set(up, { to: { kind: 'directory', mode: 0o755, owner: to.owner } });
      }
    }
  }
  // From the deepest up: a directory that is not empty afterwards stays.
  for (const path of [...verdicts.keys()].sort(byDepth).reverse()) {
    const to = target(path);
    if (to === undefined || to.kind === 'directory') continue;
    if (disk.get(path)?.kind !== 'directory') continue;
    const stays = [...disk.keys(), ...verdicts.keys()].some((below) => {
      if (!isBelow(below, path)) return false;
      const now = target(below);
      return now === undefined ? disk.has(below) : now.kind !== 'absent';
    });
    if (stays) verdicts.set(path, 'conflict');
  }
  const outcomes = new Map<string, OutcomeKind>();
  const acts: Acts = new Map();
  for (const [path, verdict] of verdicts) {
    if (typeof verdict === 'object') acts.set(path, verdict.to);
    if (typeof verdict === 'string') outcomes.set(path, verdict);
    else outcomes.set(path, verdict.to.kind === 'absent' ? 'deleted' : 'restored');
  }
  return { outcomes, acts };
}

function byDepth(a: string, b: string): number {
  return parentsOf(a).length - parentsOf(b).length;
}

/** The paths asked for, all below them, and the directories above that must be made again first. */
function isAsked(path: string, change: Change, asked: readonly string[]): boolean {
  if (asked.length === 0) return true;
  if (asked.some((wanted) => path === wanted || isBelow(path, wanted))) return true;
  if (!asked.some((wanted) => isBelow(wanted, path))) return false;
  return change.before.kind === 'directory' && change.after.kind !== 'directory';
}

/** Promises 2 and 3. */
function judge(path: string, change: Squashed, { ask, contested, disk }: Job): Verdict {
  const { before, after } = change;
  const now = lookAt(disk, path);
  const stamp = disk.get(path)?.stamp ?? 'nothing';
  if (same(now, before)) return 'unchanged';
  if (before.kind === 'skipped') return before.stamp === stamp ? 'unchanged' : 'skipped';
  if (after.kind === 'skipped' && (after.why === 'left-out' || now.kind === 'directory')) {
    return 'skipped';
  }
  const asLeft = after.kind === 'skipped' ? after.stamp === stamp : same(now, after);
  if (!ask.force && (contested.has(path) || !asLeft || change.foreign)) return 'conflict';
  return { to: before };
}

type Inode = { data: string; mode: number; owner: string };
/** Names that are put back as names of one file, `link` telling which it was. */
type Group = {
  readonly link: string;
  readonly mtime: bigint | undefined;
  readonly inode: Inode;
  readonly paths: string[];
};

/** The tree after a rewind, hard links and all. */
function applied(
  disk: Disk,
  acts: Acts,
  known: {
    /** The tree as last scanned. */
    readonly stood: Disk;
    /** What is as it is to be, or was put back before. */
    readonly names: ReadonlyMap<string, Image>;
  },
): { readonly tree: Map<string, Described>; readonly groups: string[][] } {
  const inodes = new Map<string, Inode>();
  const tree = new Map<string, NotFile | { readonly kind: 'file'; readonly inode: Inode }>();
  for (const [path, standing] of disk) {
    if (standing.kind !== 'file') {
      tree.set(path, standing);
      continue;
    }
    const inode = inodes.get(standing.inode) ?? { ...standing };
    inodes.set(standing.inode, inode);
    tree.set(path, { kind: 'file', inode });
  }
  const groups: Group[] = [];
  for (const [path, to] of acts) {
    if (to.kind === 'absent') tree.delete(path);
    else if (to.kind !== 'file') tree.set(path, to);
    else tree.set(path, { kind: 'file', inode: groupFor(groups, path, to) });
  }
  for (const group of groups) {
    const isOnly = groups.every((other) => other === group || other.link !== group.link);
    const stands = group.paths.some((path) => isName(disk.get(path), group.link));
    for (const [path, now] of disk) {
      if (acts.has(path) || !isName(now, group.link)) continue;
      // The inode still stands under a name that is put back: it is rewritten, and so are its other
      // names, which nobody asked for. That is what one file under several names means.
      const isRewritten = isOnly && stands;
      if (isRewritten) tree.set(path, { kind: 'file', inode: group.inode });
      // READING: the number of an inode that is gone is given out again, so it is the file that is meant
      // if it had other names when it was last scanned, or was not written since the pre-image.
      const scanned = known.stood.get(path);
      const isMeant =
        isName(scanned, group.link) && (linksOf(scanned) > 1 || mtime(now) === group.mtime);
      const survives = isMeant && same(lookAt(disk, path), { kind: 'file', ...group.inode });
      if (isRewritten || survives) group.paths.push(path);
    }
    if (stands || group.paths.some((path) => !acts.has(path))) continue;
    const before = [...known.names].filter(
      ([path, image]) =>
        !acts.has(path) &&
        image.kind === 'file' &&
        image.link === group.link &&
        same(image, { kind: 'file', ...group.inode }) &&
        same(lookAt(disk, path), image),
    );
    const files = new Set(before.map(([path]) => inodeIn(disk, path)));
    if (files.size === 1) group.paths.push(...before.map(([path]) => path));
  }
  const described = new Map<string, Described>();
  for (const [path, node] of tree) {
    described.set(path, node.kind === 'file' ? { kind: 'file', ...node.inode } : node);
  }
  return { tree: described, groups: groups.map(({ paths }) => paths) };
}

type NotFile = Exclude<Described, { kind: 'file' }>;

function groupFor(groups: Group[], path: string, to: Extract<Content, { kind: 'file' }>): Inode {
  const { link, mtime: written, data, mode, owner } = to;
  const known = groups.find(
    (group) => group.link === link && same({ kind: 'file', ...group.inode }, to),
  );
  if (known !== undefined) {
    known.paths.push(path);
    return known.inode;
  }
  const inode = { data, mode, owner };
  if (link !== undefined) groups.push({ link, mtime: written, inode, paths: [path] });
  return inode;
}

function isName(standing: Standing | undefined, inode: string): boolean {
  return standing?.kind === 'file' && standing.inode === inode;
}

function inodeIn(disk: Disk, path: string): string {
  const standing = disk.get(path);
  return standing?.kind === 'file' ? standing.inode : '';
}

function linksOf(standing: Standing | undefined): number {
  return standing?.kind === 'file' ? standing.links : 0;
}

function mtime(standing: Standing | undefined): bigint {
  return standing?.kind === 'file' ? standing.mtime : 0n;
}
