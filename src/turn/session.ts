import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import { type Image, PERMISSIONS, sameImage } from '../core/image.js';
import { printable } from '../core/printable.js';
import { PreimageError } from '../core/problem.js';
import { parentOf, type RelPath } from '../core/relpath.js';
import { NO_RUN_RULES } from '../core/run-rules.js';
import { PRIVATE_FILE, writeAll } from '../files/durable.js';
import { lookWhole } from '../files/look-all.js';
import { openTree, spotOf } from '../files/tree.js';
import { PackWriter } from '../store/pack-writer.js';
import { SpoolWriter } from '../store/spool.js';
import { type ClosedStep, closeStep } from './close-step.js';
import { captureLine, controlOf, draftLine } from './control.js';
import { orGiveUp } from './given-up.js';
import { stagedPrefix } from './leftovers.js';
import type { WhichWorkspace } from './locate.js';
import { toRelPath } from './locate.js';
import { type OpenedStep, openStep } from './open-step.js';
import { type BudgetOptions, type RuleOptions, resolveBudget, resolveRules } from './settings.js';
import { saying } from './system-trouble.js';
import { openWorkspace, type Workspace } from './workspace.js';

/** How {@link openTurn} opens a turn. */
export type OpenTurnOptions = WhichWorkspace &
  RuleOptions &
  BudgetOptions & {
    readonly root: string;
    /** The turn's id; the next free one of the form t1, t2, … if left out. */
    readonly turn?: string;
    readonly label?: string;
    /** Watches what happens, for the timeline; off by default, for it costs a process. */
    readonly watch?: boolean;
  };

/** A turn that this process has open. */
export interface OpenTurn {
  readonly turn: string;
  /** What the opening has to say: what it left for want of time, above all. */
  readonly warnings: readonly string[];
  /**
   * Makes sure that the bytes at a path are safe before the caller changes them. The opening scan has
   * done that for every path it covers; for others (left out by a rule, over the size limit or the time
   * budget) the path is captured now. Either way no scan runs. Throws `usage` for a path outside the root.
   */
  capture(path: string): void;
  /**
   * Captures a path, then replaces it by a file with these bytes in one step: whoever reads it sees
   * the old file or the new one. Permission bits of the old file are kept.
   */
  write(path: string, data: string | Uint8Array): void;
  /** Closes the turn's step and gives what changed in it. */
  close(): Promise<ClosedStep>;
}

/** Opens a step of a turn in this process: what an agent does around its tools. */
export async function openTurn(options: OpenTurnOptions): Promise<OpenTurn> {
  const workspace = openWorkspace(options);
  try {
    const opened = await openStep(workspace, {
      turn: options.turn ?? 'next',
      label: options.label ?? '',
      kind: 'library',
      command: [],
      rules: resolveRules(workspace.root, options),
      owned: true,
      watcher: options.watch === true ? 'default' : 'none',
      budget: resolveBudget(workspace.root, options),
      onProgress: () => {},
    });
    return new Session(workspace, opened);
  } catch (error) {
    workspace.close();
    throw error;
  }
}

class Session implements OpenTurn {
  readonly #workspace: Workspace;
  readonly #opened: OpenedStep;
  readonly #captured = new Set<RelPath>();
  readonly #announced = new Set<RelPath>();
  #closed = false;

  constructor(workspace: Workspace, opened: OpenedStep) {
    this.#workspace = workspace;
    this.#opened = opened;
  }

  get turn(): string {
    return this.#opened.record.turn;
  }

  get warnings(): readonly string[] {
    return this.#opened.scanned.warnings;
  }

  capture(path: string): void {
    this.#requireOpen();
    const { located } = this.#workspace;
    this.#secure(toRelPath({ ...located, cwd: located.root }, path), 'only');
  }

  write(path: string, data: string | Uint8Array): void {
    this.#requireOpen();
    const { located } = this.#workspace;
    const relative = toRelPath({ ...located, cwd: located.root }, path);
    this.#secure(relative, 'to write');
    const bytes = typeof data === 'string' ? Buffer.from(data) : data;
    saying(`write ${printable(relative)}`, 'What stood there is safe; try again.', () => {
      replaceFile(this.#workspace, { path: relative, step: this.#opened.record.step }, bytes);
    });
  }

  async close(): Promise<ClosedStep> {
    this.#requireOpen();
    this.#closed = true;
    const { log } = this.#workspace.layout;
    try {
      return await saying(`close turn ${this.turn}`, 'The next call of preimage closes it.', () =>
        orGiveUp(log, this.#opened.record.step, () => this.#close()),
      );
    } finally {
      this.#workspace.close();
    }
  }

  async #close(): Promise<ClosedStep> {
    const { history } = this.#workspace.readLog();
    const step = history.steps.find(({ id }) => id === this.#opened.record.step);
    const closed =
      step?.kind === 'work'
        ? await closeStep(this.#workspace, step, {
            exitCode: 'none',
            recovered: false,
            rules: NO_RUN_RULES,
            onProgress: () => {},
          })
        : 'gone';
    if (closed !== 'gone') return closed;
    throw new PreimageError('internal', `The step of turn ${this.turn} was closed elsewhere.`);
  }

  #requireOpen(): void {
    if (this.#closed) throw new PreimageError('usage', `Turn ${this.turn} is closed.`);
  }

  #secure(path: RelPath, why: 'only' | 'to write'): void {
    const next = why === 'only' ? 'Try again.' : 'It was not written; try again.';
    saying(`capture ${printable(path)}`, next, () => {
      this.#capture(path);
      if (why === 'to write') this.#announce(path);
    });
  }

  /** Tells a recovery in which directories drafts may stand: once for each. */
  #announce(path: RelPath): void {
    const directory = parentOf(path);
    if (this.#announced.has(directory)) return;
    const { layout } = this.#workspace;
    const spool = new SpoolWriter(controlOf(layout, this.#opened.control.token).drafts);
    spool.append([draftLine(path)]);
    spool.sync();
    spool.close();
    this.#announced.add(directory);
  }

  /** The first capture of a path wins: what the opening scan has, else what is captured here. */
  #capture(path: RelPath): void {
    if (this.#captured.has(path)) return;
    const known: Image = this.#opened.scanned.manifest.imageAt(path);
    if (known.kind === 'skipped') this.#captureNow(path, known);
    // Not before: after a failure the next try must capture.
    this.#captured.add(path);
  }

  #captureNow(path: RelPath, known: Image): void {
    const { layout, packs, root } = this.#workspace;
    // What a prune has retired since is not there any more. What one retires right now waits in the
    // trash for an hour, and comes back once it is named here: see `prune.ts`.
    this.#workspace.renew();
    const writer = new PackWriter(layout.packs, (sha256) => packs.holds(sha256));
    const tree = openTree(root);
    try {
      const { image } = lookWhole(tree, path, writer);
      // The bytes first, then the line that names them.
      writer.sync();
      writer.close();
      packs.refresh();
      if (sameImage(image, known)) return;
      const spool = new SpoolWriter(controlOf(layout, this.#opened.control.token).captures);
      spool.append([captureLine(path, image)]);
      spool.sync();
      spool.close();
    } catch (error) {
      writer.discard();
      throw error;
    } finally {
      tree.close();
    }
  }
}

function replaceFile(
  { root }: Workspace,
  { path, step }: { readonly path: RelPath; readonly step: number },
  bytes: Uint8Array,
): void {
  const tree = openTree(root);
  try {
    const directory = tree.directory(parentOf(path));
    const spot = spotOf(tree, path);
    if (directory.kind !== 'directory' || spot.kind !== 'spot') {
      throw new PreimageError(
        'usage',
        `Cannot write ${printable(path)}: its directory is missing.`,
        {
          hint: 'Make the directory first.',
        },
      );
    }
    const old = fs.lstatSync(spot.path, { throwIfNoEntry: false });
    const staged = directory.at(`${stagedPrefix(step)}${randomBytes(4).toString('hex')}`);
    try {
      writeDraft(staged, bytes, old?.isFile() === true ? old.mode & PERMISSIONS : 'new');
      fs.renameSync(staged, spot.path);
    } catch (error) {
      // A draft that cannot be removed goes when the step is closed or recovered: it was announced.
      fs.rmSync(staged, { force: true });
      throw error;
    }
  } finally {
    tree.close();
  }
}

/** Writes a file that does not take an old one's place before it has that one's mode. */
function writeDraft(path: string | Buffer, bytes: Uint8Array, mode: number | 'new'): void {
  const fd = fs.openSync(path, 'wx', mode === 'new' ? 0o666 : PRIVATE_FILE);
  try {
    writeAll(fd, bytes);
    if (mode !== 'new') fs.fchmodSync(fd, mode);
    fs.fsyncSync(fd);
  } finally {
    fs.closeSync(fd);
  }
}
