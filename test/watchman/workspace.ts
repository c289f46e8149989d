import fs from 'node:fs';
import path from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { diffManifests } from '../../src/core/diff.js';
import { printable } from '../../src/core/printable.js';
import type { OpenRecord } from '../../src/core/records.js';
import { type OpenTurn, openStore, openTurn } from '../../src/index.js';
import { readManifest } from '../../src/store/manifests.js';
import { openWorkspace, type Workspace } from '../../src/turn/workspace.js';
import { scan } from '../support/scan.js';
import { type Entry, type Snapshot, snapshot, temporary, tree } from '../support/tree.js';

/** A workspace whose settings name watchman. */
export class Watched {
  readonly root: string;
  readonly #store: string;
  readonly #workspace: Workspace;

  constructor(entries: Record<string, Entry>, base = temporary()) {
    const settings = { '.preimage.json': '{ "scan": "watchman" }' };
    this.root = tree(path.join(base, 'ws'), { ...settings, ...entries });
    this.#store = path.join(base, 'store');
    this.#workspace = openWorkspace({ root: this.root, store: this.#store });
    onTestFinished(() => this.#workspace.close());
  }

  at(relative: string): string {
    return path.join(this.root, relative);
  }

  snapshot(): Snapshot {
    return snapshot(this.root);
  }

  async open(): Promise<OpenTurn> {
    return await openTurn({ root: this.root, store: this.#store });
  }

  /** Two turns in which nothing happens: by the second watchman has a clock. */
  async settle(): Promise<void> {
    for (let turns = 0; turns < 2; turns++) await (await this.open()).close();
  }

  /** How the newest step was opened. */
  how(): NonNullable<OpenRecord['watchman']> {
    const { watchman } = this.#newest();
    if (watchman === undefined) throw new Error('watchman was not asked');
    return watchman;
  }

  /** Names what the manifest of the newest opening has otherwise than a scan that reads every file. */
  wrong(): string[] {
    const manifest = readManifest(this.#workspace.layout.manifests, this.#newest().manifest);
    if (manifest === 'missing') throw new Error('no manifest');
    return diffManifests(manifest, scan(this.root).manifest).map(({ path }) => printable(path));
  }

  /**
   * Opens a turn after a change, and has it be right: by a scan that reads every file, and by wrecking
   * all of it and rewinding. Gives how the turn was opened.
   */
  async opensRightAfter(change: () => unknown): Promise<ReturnType<Watched['how']>> {
    await change();
    const before = this.snapshot();
    const turn = await this.open();
    const how = this.how();
    expect(this.wrong()).toEqual([]);
    expect(this.snapshot()).toEqual(before);
    for (const name of fs.readdirSync(this.root, 'buffer')) {
      const at = Buffer.concat([Buffer.from(`${this.root}/`), name]);
      fs.rmSync(at, { recursive: true });
    }
    await turn.close();
    const store = openStore({ root: this.root, store: this.#store });
    const { complete } = await store.rewind({ git: true });
    store.close();
    expect(complete).toBe(true);
    expect(this.snapshot()).toEqual(before);
    return how;
  }

  #newest(): OpenRecord {
    const step = this.#workspace.readLog().history.steps.findLast(({ kind }) => kind === 'work');
    if (step?.kind !== 'work') throw new Error('no step');
    return step.open;
  }
}
