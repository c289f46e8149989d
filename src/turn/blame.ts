import { type Annotated, annotate, type LineOrigin, NO_LINES } from '../core/blame.js';
import type { Change } from '../core/change.js';
import { closedLine, openSteps, type Step } from '../core/history.js';
import { type Image, sameImage } from '../core/image.js';
import { isBinary, linesOf } from '../core/patch/text-diff.js';
import { printable } from '../core/printable.js';
import { PreimageError } from '../core/problem.js';
import type { ByteString, RelPath } from '../core/relpath.js';
import { formatSize } from '../core/units.js';
import { lookAt } from '../files/look.js';
import { openTree } from '../files/tree.js';
import { standingBytes } from './standing-bytes.js';
import { storedBytes } from './stored-bytes.js';
import type { LogState, Workspace } from './workspace.js';

/** A line of a file as it stands now; `text` with its LF, if it has one. */
export type BlamedLine = { readonly origin: LineOrigin; readonly text: ByteString };

/** Who wrote the lines of a file, or why that cannot be told. */
export type Blame =
  | {
      readonly kind: 'lines';
      readonly path: RelPath;
      readonly lines: readonly BlamedLine[];
      /** Turns that are open: what they have changed so far counts as outside. */
      readonly openTurns: readonly string[];
      /** Turns that a prune has dropped: what they wrote counts as before. */
      readonly droppedTurns: number;
    }
  | { readonly kind: 'not-text'; readonly path: RelPath; readonly reason: string };

/** A larger file is not looked into. */
const MAX_BYTES = 8 * 1024 * 1024;

/**
 * Tells for each line of a file as it stands who was the last to write it. A rewind gives the lines
 * that it brings back to whoever had written them. Of turns that overlap, the one that closed first
 * has the lines that both saw come. Throws `nothing-to-do` where nothing stands at the path.
 */
export function blameFile(workspace: Workspace, path: RelPath): Blame {
  const state = workspace.readLog();
  const now = standing(workspace, path);
  switch (now.kind) {
    case 'nothing':
      throw new PreimageError('nothing-to-do', `Nothing stands at ${printable(path)}.`, {
        hint: `See the turns that touched it with: preimage log ${printable(path)}`,
      });
    case 'unknown':
    case 'no-text':
      return { kind: 'not-text', path, reason: now.reason };
    case 'text': {
      const left = new Past(workspace, path).replay(state);
      const { lines, origins } = annotate(now.lines, writerAfter(left, OUTSIDE), linesIn(left));
      return {
        kind: 'lines',
        path,
        lines: lines.map((text, i) => ({ text, origin: origins[i] ?? OUTSIDE })),
        openTurns: [...new Set(openSteps(state.history).map(({ open }) => open.turn))],
        droppedTurns: state.history.pruned.turns,
      };
    }
  }
}

const OUTSIDE: LineOrigin = { kind: 'outside' };
const BEFORE: LineOrigin = { kind: 'before' };
const UNKNOWN: LineOrigin = { kind: 'unknown' };

/** What stood at a path, as far as its lines are concerned. */
type Version =
  | { readonly kind: 'text'; readonly lines: readonly ByteString[] }
  | { readonly kind: 'nothing' }
  /** A link, a directory, a binary or huge file: it has no lines. */
  | { readonly kind: 'no-text'; readonly reason: string }
  /** Not captured, or lost. */
  | { readonly kind: 'unknown'; readonly reason: string };

/** What an interval left, with who wrote its lines. */
type Left =
  | { readonly kind: 'known'; readonly image: Image; readonly text: Annotated }
  | { readonly kind: 'unknown'; readonly image: Image };

/** Goes through what was recorded of one path, oldest first. */
class Past {
  readonly #workspace: Workspace;
  readonly #path: RelPath;
  /** What each step found, by its id: a rewind of it brings that back. */
  readonly #found = new Map<number, Left>();
  /** What stood there at any time, the newest where the same came again. */
  readonly #known: Left[] = [];

  constructor(workspace: Workspace, path: RelPath) {
    this.#workspace = workspace;
    this.#path = path;
  }

  replay(state: LogState): Left {
    let left: Left | undefined;
    let until = 0;
    for (const { step, change } of this.#touching(state)) {
      left = this.#foundBy(left, { step, change, until });
      this.#found.set(step.id, left);
      this.#known.push(left);
      left =
        step.kind === 'rewind' ? this.#back(left, step, change) : this.#work(left, step, change);
      this.#known.push(left);
      until = Math.max(until, closedLine(step));
    }
    return left ?? this.#untouched(state);
  }

  #touching({ history }: LogState): { readonly step: Step; readonly change: Change }[] {
    return history.steps
      .filter(({ end }) => end.kind === 'closed')
      .sort((a, b) => closedLine(a) - closedLine(b))
      .flatMap((step) => {
        const change = this.#workspace.changes(step).find(({ path }) => path === this.#path);
        return change === undefined ? [] : [{ step, change }];
      });
  }

  #foundBy(
    left: Left | undefined,
    at: { readonly step: Step; readonly change: Change; readonly until: number },
  ): Left {
    const { before } = at.change;
    if (left === undefined) return this.#left(before, BEFORE);
    // What overlaps has seen the same come: nobody else has been there.
    if (at.step.opened < at.until || sameImage(left.image, before)) return left;
    return this.#left(before, writerAfter(left, OUTSIDE), linesIn(left));
  }

  #work(found: Left, step: Step, { after }: Change): Left {
    const writer: LineOrigin = { kind: 'turn', turn: step.open.turn, step: step.id };
    return this.#left(after, writerAfter(found, writer), linesIn(found));
  }

  #back(found: Left, step: Extract<Step, { kind: 'rewind' }>, { after }: Change): Left {
    const undone = [...step.open.undoes].sort((a, b) => a - b);
    const target = undone.map((id) => this.#found.get(id)).find((left) => left !== undefined);
    if (target !== undefined && isSame(target, after)) return target;
    const known = this.#known.findLast((left) => isSame(left, after));
    if (known !== undefined) return known;
    // Merged: some lines were there just now, the others come back.
    const sources = [found, ...(target === undefined ? [] : [target])];
    const writer = sources.some(({ kind }) => kind === 'unknown') ? UNKNOWN : OUTSIDE;
    return this.#left(after, writer, ...sources.map(linesIn));
  }

  /** No turn has touched it: who wrote what the last scan found cannot be told, but before now. */
  #untouched(state: LogState): Left {
    const baseline = this.#workspace.baseline(state);
    if (baseline === 'none') return { kind: 'unknown', image: { kind: 'absent' } };
    return this.#left(baseline.manifest.imageAt(this.#path), BEFORE);
  }

  #left(image: Image, writer: LineOrigin, ...older: readonly Annotated[]): Left {
    const version = this.#version(image);
    if (version.kind === 'unknown') return { kind: 'unknown', image };
    const lines = version.kind === 'text' ? version.lines : [];
    return { kind: 'known', image, text: annotate(lines, writer, ...older) };
  }

  #version(image: Image): Version {
    const known = withoutBytes(image);
    if (known !== 'a file') return known;
    if (image.kind !== 'content' || image.type !== 'file') return { kind: 'nothing' };
    const bytes = storedBytes(this.#workspace.packs, image);
    return bytes === 'unknown'
      ? { kind: 'unknown', reason: 'the store has lost it' }
      : textIn(bytes);
  }
}

function isSame(left: Left, image: Image): boolean {
  const [a, b] = [left.image, image];
  if (a.kind === 'content' && b.kind === 'content' && a.type === 'file' && b.type === 'file') {
    return a.sha256 === b.sha256;
  }
  return sameImage(a, b);
}

function linesIn(left: Left): Annotated {
  return left.kind === 'known' ? left.text : NO_LINES;
}

/** After something that nobody knows, nobody can say which lines are new. */
function writerAfter(left: Left, writer: LineOrigin): LineOrigin {
  return left.kind === 'unknown' ? UNKNOWN : writer;
}

function standing({ root }: Workspace, path: RelPath): Version {
  const tree = openTree(root);
  try {
    const { image } = lookAt(tree, path, 'hash-only');
    const known = withoutBytes(image);
    if (known !== 'a file') return known;
    if (image.kind !== 'content' || image.type !== 'file') return { kind: 'nothing' };
    const bytes = standingBytes(tree, path, image);
    if (bytes === 'unknown') return { kind: 'unknown', reason: 'it changed while it was read' };
    return textIn(bytes);
  } finally {
    tree.close();
  }
}

function withoutBytes(image: Image): Version | 'a file' {
  switch (image.kind) {
    case 'absent':
      return { kind: 'nothing' };
    case 'skipped':
      return { kind: 'unknown', reason: image.reason };
    case 'content':
      if (image.type !== 'file') return { kind: 'no-text', reason: `it is a ${WORDS[image.type]}` };
      if (image.bytes <= MAX_BYTES) return 'a file';
      return {
        kind: 'no-text',
        reason: `its ${formatSize(image.bytes)} are over the ${formatSize(MAX_BYTES)} that are looked into`,
      };
  }
}

const WORDS = { symlink: 'symbolic link', directory: 'directory', fifo: 'named pipe' } as const;

function textIn(bytes: Buffer): Version {
  if (isBinary(bytes)) return { kind: 'no-text', reason: 'it is binary' };
  return { kind: 'text', lines: linesOf(bytes.toString('latin1')) };
}
