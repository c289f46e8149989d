import { fromText, isRelPath, type RelPath } from '../core/relpath.js';
import type { Coverage } from '../core/rules.js';
import { isSettled } from '../core/trust.js';
import { sharedWritableInodes } from '../files/mappings.js';
import { toNative } from '../files/native-path.js';
import { probeClock } from '../files/probe.js';
import { readStable } from '../files/stable-read.js';
import { lstat, stampOf } from '../files/stat.js';
import { openTree, spotOf, type Tree } from '../files/tree.js';
import type { EarlyHash } from '../scan/request.js';
import type { StoreLayout } from '../store/layout.js';
import { PackWriter } from '../store/pack-writer.js';
import { Packs } from '../store/packs.js';
import { SpoolWriter } from '../store/spool.js';
import { type Control, earlyLine } from './control.js';

/** A file must have been quiet for so long before it is hashed. */
const QUIET_MS = 150;
/** A file that goes on changing is not stored again and again: its versions in between are waste. */
const MOST_TIMES = 3;

/** Hashes and stores post-images while the command still runs, so that the close finds them done. */
export class EarlyHasher {
  readonly #layout: StoreLayout;
  readonly #coverage: Coverage;
  readonly #spool: SpoolWriter;
  readonly #writer: PackWriter;
  readonly #tree: Tree;
  readonly #pending = new Set<RelPath>();
  readonly #times = new Map<RelPath, number>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: {
    readonly layout: StoreLayout;
    readonly control: Control;
    readonly coverage: Coverage;
  }) {
    const packs = new Packs(options.layout.packs, options.layout.big);
    this.#layout = options.layout;
    this.#coverage = options.coverage;
    this.#spool = new SpoolWriter(options.control.early);
    this.#writer = new PackWriter(options.layout.packs, (sha256) => packs.holds(sha256));
    this.#tree = openTree(options.layout.root);
  }

  /** Takes paths, as the watcher names them, that may have new bytes. */
  note(paths: readonly string[]): void {
    for (const path of paths) {
      const bytes = fromText(path);
      if (isRelPath(bytes) && bytes !== '') this.#pending.add(bytes);
    }
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.hashPending();
    }, QUIET_MS);
  }

  /** Hashes at once what was noted; otherwise that waits until the paths are quiet. */
  hashPending(): void {
    clearTimeout(this.#timer);
    const paths = [...this.#pending].filter((path) => this.#mayHash(path));
    this.#pending.clear();
    // Before anything is read: what is stamped later than this may change again unseen.
    const probe = probeClock(this.#layout.root, fromText(this.#layout.directory));
    // After the clock: a mapping that comes later moves the ctime at its first store.
    const { inodes } = sharedWritableInodes();
    const rootDevice = lstat(toNative(this.#layout.root));
    const found: (readonly [RelPath, EarlyHash])[] = [];
    for (const path of paths) {
      const spot = spotOf(this.#tree, path);
      if (spot.kind !== 'spot') continue;
      const stat = lstat(spot.path);
      if (stat === 'absent' || !stat.isFile() || this.#isTooLarge(stat.size)) continue;
      const result = readStable(spot.path, this.#writer);
      if (result.kind !== 'read') continue;
      const onRootDevice = rootDevice !== 'absent' && rootDevice.dev === result.stat.dev;
      const volatile = inodes.has(result.stat.ino);
      const settled = onRootDevice && !volatile && isSettled(result.stat.ctimeNs, probe);
      found.push([path, { stamp: stampOf(result.stat), sha256: result.sha256, settled }]);
    }
    // The bytes first, then the lines that name them; a writer has a pack only once it has written.
    this.#writer.flush();
    const pack = this.#writer.number === 'none' ? 0 : this.#writer.number;
    this.#spool.append(found.map(([path, early]) => earlyLine(path, early, pack)));
  }

  #mayHash(path: RelPath): boolean {
    const times = (this.#times.get(path) ?? 0) + 1;
    this.#times.set(path, times);
    return times <= MOST_TIMES && this.#coverage.judgeFile(path, '').kind === 'covered';
  }

  #isTooLarge(size: bigint): boolean {
    const { maxFile } = this.#coverage.rules;
    return maxFile > 0 && size > maxFile;
  }
}
