import type { Attributes } from '../core/attributes.js';
import type { Manifest } from '../core/manifest.js';
import type { ManifestBuilder } from '../core/manifest-builder.js';
import { FLAG, NOT_KNOWN } from '../core/manifest-columns.js';
import { isErrno } from '../core/problem.js';
import type { RelPath } from '../core/relpath.js';
import { isSettled } from '../core/trust.js';
import { attributeSupport, readAttributes } from '../files/attributes.js';
import { attributesBelow } from '../files/held-paths.js';
import type { NativePath } from '../files/native-path.js';
import { lstat, type Stat } from '../files/stat.js';
import { spotOf, type Tree } from '../files/tree.js';
import type { MetFile } from './file-hasher.js';
import type { Places } from './places.js';
import type { ScanRequest } from './request.js';

/** An entry of the manifest that has attributes, as it was met. */
type Met = Pick<MetFile, 'index' | 'previous' | 'sameKey' | 'device'>;

type Asked = Pick<Met, 'index' | 'previous'>;

/** So many are asked for in one go: a program's start for each, and their paths in memory. */
const TOGETHER = 20_000;

/** From here on the way through all directories takes longer than opening each of them once. */
const LONG_PATH = 500;

const NOT_READ =
  'extended attributes and ACLs could not be read: what this turn does to them may not be undone';

/** What came of asking for attributes. */
export type AttributesRead = {
  /** Some differ from the baseline's. */
  readonly changed: boolean;
  /** Some are known that the baseline does not know. */
  readonly learned: boolean;
  readonly warnings: readonly string[];
};

/**
 * Gives each file, directory and named pipe of a walk its attributes: the remembered ones by the rule
 * for hashes, for setting one moves the ctime; the others are asked for all at once after the walk.
 */
export class ScanAttributes {
  /** Attributes are in the manifest, as far as they could be read. */
  readonly recorded: boolean;
  readonly #baseline: Manifest | 'none';
  readonly #builder: ManifestBuilder;
  readonly #places: Places;
  readonly #tree: Tree;
  readonly #isHere: boolean;
  /** Index and index in the baseline, by turns: in a first scan these are all the files there are. */
  readonly #asked: number[] = [];
  #newsOfPipes = false;

  constructor(
    { attributes, baseline }: Pick<ScanRequest, 'attributes' | 'baseline'>,
    using: { readonly builder: ManifestBuilder; readonly places: Places; readonly tree: Tree },
  ) {
    this.#isHere = attributes === 'ask' && attributeSupport().kind === 'recorded';
    this.#baseline = baseline;
    this.#builder = using.builder;
    this.#places = using.places;
    this.#tree = using.tree;
    this.recorded = this.#isHere || (baseline !== 'none' && baseline.meta.attributes);
  }

  /** Reports whether an entry of the baseline that stands as it stood need not be asked again. */
  mayTake(previous: number): boolean {
    return !this.#isHere || this.#isKnown(previous);
  }

  /** Takes an entry's attributes from the baseline, or notes that they are to be asked for. */
  meet(met: Met): void {
    if (!this.recorded || (met.sameKey && this.#reuse(met))) return;
    this.#asked.push(met.index, met.previous);
  }

  meetDirectory({ index, previous, device }: Omit<Met, 'sameKey'>): void {
    const baseline = this.#baseline;
    const known = this.recorded && baseline !== 'none' && previous >= 0;
    const sameKey = known && this.#builder.sameKey(index, baseline, previous);
    this.meet({ index, previous, sameKey, device });
  }

  /** Nothing else needs to know whether a named pipe's stamps can be trusted. */
  meetPipe(met: MetFile): void {
    const { index, previous, device, stat } = met;
    if (this.recorded && isSettled(stat.ctimeNs, device.probe)) {
      this.#builder.setFlags(index, FLAG.trusted);
      const baseline = this.#baseline;
      const known = baseline !== 'none' && previous >= 0 && baseline.has(previous, FLAG.trusted);
      if (!known) this.#newsOfPipes = true;
    }
    this.meet(met);
  }

  /** Asks for what is not known. */
  read(): AttributesRead {
    const found = { changed: this.#newsOfPipes, learned: false };
    let stands = false;
    for (let at = 0; at < this.#asked.length; at += 2 * TOGETHER) {
      const some = this.#asked.slice(at, at + 2 * TOGETHER);
      const asked: Asked[] = [];
      for (let i = 0; i < some.length; i += 2) {
        const [index = 0, previous = -1] = some.slice(i, i + 2);
        if (!this.#builder.has(index, FLAG.skipped | FLAG.unlisted))
          asked.push({ index, previous });
      }
      const read = this.#isHere && asked.length > 0 ? this.#readAll(asked) : [];
      asked.forEach((each, i) => {
        this.#note(each, read[i], found);
      });
      const isBroken = read.length > 0 && read.every((each) => each === undefined);
      stands ||= isBroken && asked.some(({ index }) => this.#stands(index));
    }
    const { changed, learned } = found;
    return { changed, learned, warnings: stands ? [NOT_READ] : [] };
  }

  #note(
    { index, previous }: Asked,
    read: Attributes | undefined,
    found: { changed: boolean; learned: boolean },
  ): void {
    const now = this.#ifItStands(index, read);
    this.#builder.setText(index, now ?? NOT_KNOWN);
    const baseline = this.#baseline;
    const isKnown = baseline !== 'none' && previous >= 0;
    const before = isKnown ? baseline.attributes(previous) : undefined;
    if (now !== before) found.changed = true;
    if (now !== undefined && before === undefined) found.learned = true;
  }

  #reuse({ index, previous, device }: Met): boolean {
    const baseline = this.#baseline;
    if (baseline === 'none' || !device.stampsTrusted || !this.#isKnown(previous)) return false;
    const flags = (baseline.columns.flags[previous] ?? 0) & (FLAG.trusted | FLAG.skipped);
    if (flags !== FLAG.trusted) return false;
    // Most have none, and then nothing has to be done: this is asked of every file.
    if (baseline.columns.texts[previous] === 0) return true;
    const known = baseline.attributes(previous);
    if (known !== undefined && !this.#builder.has(index, FLAG.skipped | FLAG.unlisted)) {
      this.#builder.setText(index, known);
    }
    return true;
  }

  #isKnown(previous: number): boolean {
    const baseline = this.#baseline;
    if (baseline === 'none' || !baseline.meta.attributes) return false;
    return baseline.columns.texts[previous] === 0 || baseline.attributes(previous) !== undefined;
  }

  /** By their paths, as the walk does it; through descriptors where those are long. */
  #readAll(asked: readonly Asked[]): (Attributes | undefined)[] {
    const paths = asked.map(({ index }) => this.#builder.path(index));
    const isLong = (path: RelPath) => this.#places.absolute(path).length > LONG_PATH;
    const long = attributesBelow(this.#tree, paths.filter(isLong));
    const short = paths.filter((path) => !isLong(path));
    const read = readAttributes(short.map((path) => this.#places.absolute(path)));
    let next = 0;
    return paths.map((path) => (isLong(path) ? long.get(path) : read[next++]));
  }

  /**
   * RACE: what is read belongs to the entry that was met only if that was not changed or replaced
   * since, so what has attributes is looked at once more, by a way that leads through no link. Who
   * loses all of them in between is seen by its ctime at the next scan.
   */
  #ifItStands(index: number, attributes: Attributes | undefined): Attributes | undefined {
    if (attributes === undefined || attributes === '') return attributes;
    return this.#stands(index) ? attributes : undefined;
  }

  #stands(index: number): boolean {
    const spot = spotOf(this.#tree, this.#builder.path(index));
    const now = spot.kind === 'spot' ? lookedAt(spot.path) : 'absent';
    return now !== 'absent' && this.#builder.hasKey(index, now);
  }
}

function lookedAt(path: NativePath): Stat | 'absent' {
  try {
    return lstat(path);
  } catch (error) {
    if (isErrno(error, 'EACCES', 'EPERM', 'EIO', 'ESTALE')) return 'absent';
    throw error;
  }
}
