import fs from 'node:fs';
import type { Manifest } from '../core/manifest.js';
import { ManifestBuilder } from '../core/manifest-builder.js';
import { ENTRY, FLAG, KEY } from '../core/manifest-columns.js';
import { errnoWords } from '../core/problem.js';
import { type ByteString, joinPath, ROOT } from '../core/relpath.js';
import { entryType, lstat, type Stat, specialName } from '../files/stat.js';
import type { Tree } from '../files/tree.js';
import { CopyInOrder } from './copy-in-order.js';
import type { Device, Devices } from './devices.js';
import { FileHasher, type MetFile } from './file-hasher.js';
import { Judge } from './judge.js';
import { type AnyListing, KnownNames, type MetDirectory, type MetEntry } from './known-names.js';
import { CHANGED_MEANWHILE, listDirectory, PreviousNames } from './listing.js';
import { type LookAhead, lookAhead } from './look-ahead.js';
import { type Place, Places } from './places.js';
import type { ScanRequest, ScanResult } from './request.js';
import { Rows } from './rows.js';
import { ScanAttributes } from './scan-attributes.js';
import { statRoot } from './stat-root.js';
import { clockOf, Told } from './told.js';

/** One walk over a workspace: builds the new manifest beside the old one, directory by directory. */
export class Walk {
  readonly #request: ScanRequest;
  readonly #devices: Devices;
  readonly #builder: ManifestBuilder;
  readonly #hasher: FileHasher;
  readonly #judge: Judge;
  readonly #places: Places;
  readonly #knownNames: KnownNames;
  readonly #baseline: Manifest | 'none';
  readonly #takenAt = Date.now();
  readonly #rows: Rows;
  readonly #ahead: LookAhead;
  readonly #told: Told;
  readonly #attributes: ScanAttributes;
  readonly #later: CopyInOrder;
  /** Directories that are still to be entered, the next one last: a tree may be deeper than a stack. */
  readonly #pending: MetDirectory[] = [];

  constructor(request: ScanRequest, tree: Tree, devices: Devices) {
    this.#request = request;
    this.#builder = new ManifestBuilder(request.baseline === 'none' ? 0 : request.baseline.count);
    this.#judge = new Judge(request);
    this.#places = new Places(request, tree);
    this.#knownNames = new KnownNames(request, this.#builder);
    this.#devices = devices;
    this.#baseline = request.baseline;
    this.#rows = new Rows(this.#builder, request.baseline);
    this.#told = Told.by(request);
    this.#ahead = lookAhead(request.root, request.told === 'none' ? request.baseline : 'none');
    const using = { builder: this.#builder, places: this.#places, tree };
    this.#later = new CopyInOrder(request, { ...using, rows: this.#rows, devices });
    this.#hasher = new FileHasher(request, this.#builder, this.#later);
    this.#attributes = new ScanAttributes(request, using);
  }

  run(): ScanResult {
    const { root } = this.#request;
    const stat = statRoot(root);
    if (stat === 'absent') {
      this.#rows.addNothing();
      return this.#result();
    }
    const previous = this.#baseline === 'none' ? -1 : 0;
    const type = ENTRY.directory;
    const { index } = this.#rows.add({ parent: 0, name: '', type, stat, previous });
    const device = this.#devices.at(stat.dev, root);
    try {
      this.#pending.push({ path: ROOT, index, previous, stat, device, inherited: '' });
      for (let next = this.#pending.pop(); next !== undefined; next = this.#pending.pop()) {
        this.#directory(next);
      }
      this.#hasher.collect('all');
      this.#later.run(this.#hasher);
    } finally {
      this.#ahead.end();
    }
    return this.#result();
  }

  #result(): ScanResult {
    const { hashedFiles, hashedBytes, files, bytes, changed } = this.#hasher;
    const { recorded: attributes } = this.#attributes;
    const asked = this.#attributes.read();
    const warnings = [...this.#hasher.warnings, ...asked.warnings];
    const [overBudget, { untold }] = [this.#later.over.left, this.#told];
    const { learned } = asked;
    const counts = { warnings, hashedFiles, hashedBytes, learned, overBudget, untold };
    const baseline = this.#baseline;
    if (baseline !== 'none' && this.#rows.identical && !changed && !asked.changed) {
      if (this.#builder.count === baseline.count) return { manifest: baseline, ...counts };
    }
    const { packs, round } = this.#request;
    const facts = { takenAt: this.#takenAt, files, bytes, packs: packs(), round, attributes };
    return {
      manifest: this.#builder.finish({ ...facts, clock: clockOf(this.#request) }),
      ...counts,
    };
  }

  #directory(met: MetDirectory): void {
    const place = this.#places.reach(met.path);
    if (place === 'gone') {
      this.#rows.unlist(met, CHANGED_MEANWHILE);
      return;
    }
    const known = this.#knownNames.of(met);
    if (known !== 'unknown' && this.#judged(met, known, place) === 'done') return;
    const listing = listDirectory(place.self);
    if (listing.kind === 'unknown') {
      this.#rows.unlist(met, listing.reason);
      return;
    }
    if (this.#knownNames.settle(met) === 'news') this.#rows.identical = false;
    this.#judged(met, listing, place);
  }

  #judged(met: MetDirectory, listing: AnyListing, place: Place): 'done' | 'stale' {
    const verdict = this.#judge.marks(met, listing.names, place.at);
    if (verdict.kind === 'covered') return this.#entries(met, listing, place);
    if (this.#request.coverage.mayIncludeBelow(met.path)) {
      return this.#entries({ ...met, inherited: verdict.why }, listing, place);
    }
    this.#rows.leaveOut(met, verdict.why);
    return 'done';
  }

  /**
   * Adds a directory's entries side by side, then hashes its files; its directories come next.
   * `stale` where a name of the baseline is gone although its directory's stamps did not move: then
   * nothing was added, and the directory must be listed.
   */
  #entries(met: MetDirectory, listing: AnyListing, place: Place): 'done' | 'stale' {
    const { at: reach } = place;
    const start = this.#builder.mark();
    const { news } = this.#rows;
    const counted = { files: this.#hasher.files, bytes: this.#hasher.bytes };
    if (this.#baseline !== 'none' && met.previous >= 0) {
      this.#ahead.advance(this.#baseline.children(met.previous).end);
    }
    const previous = new PreviousNames(this.#baseline, met.previous);
    const files: MetEntry[] = [];
    const directories: MetDirectory[] = [];
    for (const name of listing.names) {
      const before = previous.seek(name);
      if (this.#ahead.isSame(before) || this.#told.stands(before, listing)) {
        if (this.#takeSame(met, name, before, directories)) continue;
      }
      const native = reach(name);
      const entry = this.#meet(met, { name, native, previous: before });
      if (entry === 'nothing' && listing.kind === 'known') {
        this.#builder.rollBack(start);
        this.#hasher.uncount(counted);
        return 'stale';
      }
      if (entry === 'nothing') continue;
      if (entry.stat.isDirectory()) this.#meetDirectory(met, entry, directories);
      else this.#meetLeaf(met, entry, files);
    }
    this.#builder.setChildren(met.index, start.count, this.#builder.count - start.count);
    for (const { name, native, index, previous: before, stat, sameKey } of files) {
      const file: MetFile = {
        index,
        previous: before,
        sameKey,
        stat,
        device: this.#deviceOf(stat, met),
        path: native,
        relative: () => joinPath(met.path, name),
      };
      if (stat.isFile()) {
        this.#hasher.hash(file);
        this.#attributes.meet(file);
      } else {
        this.#attributes.meetPipe(file);
      }
    }
    this.#hasher.collect('done');
    if (listing.kind !== 'known' || news !== this.#rows.news) this.#checkStill(met);
    this.#attributes.meetDirectory(met);
    this.#hasher.tellProgress();
    for (const directory of directories.reverse()) this.#pending.push(directory);
    return 'done';
  }

  /**
   * Takes an entry over from the baseline without looking at it again; false where it must be looked
   * at all the same.
   */
  #takeSame(
    met: MetDirectory,
    name: ByteString,
    previous: number,
    directories: MetDirectory[],
  ): boolean {
    const baseline = this.#baseline;
    if (baseline === 'none' || baseline.key(previous, KEY.dev) !== met.stat.dev) return false;
    if (!this.#attributes.mayTake(previous)) return false;
    if (baseline.type(previous) === ENTRY.directory) {
      if (baseline.has(previous, FLAG.skipped | FLAG.unlisted)) return false;
      const stat = {
        dev: met.stat.dev,
        ino: baseline.key(previous, KEY.ino),
        ctimeNs: baseline.key(previous, KEY.ctime),
      };
      const index = this.#rows.copy(met.index, baseline, previous);
      this.#builder.clearFlags(index);
      this.#meetDirectory(met, { name, index, previous, stat }, directories);
      return true;
    }
    if (baseline.type(previous) !== ENTRY.file || met.inherited !== '') return false;
    const { device } = met;
    if (!this.#hasher.mayTake({ index: this.#builder.count, previous, device })) return false;
    this.#rows.copy(met.index, baseline, previous);
    return true;
  }

  #meet(
    met: MetDirectory,
    { name, native, previous }: Pick<MetEntry, 'name' | 'native' | 'previous'>,
  ): MetEntry | 'nothing' {
    let stat: Stat | 'absent';
    try {
      stat = lstat(native);
    } catch (error) {
      const reason = `it cannot be looked at: ${errnoWords(error)}`;
      this.#rows.addUnknown(met.index, name, reason);
      return 'nothing';
    }
    if (stat === 'absent' || (stat.isDirectory() && this.#places.isStore(met.path, name)))
      return 'nothing';
    const type = entryType(stat);
    const { index, sameKey } = this.#rows.add({ parent: met.index, name, type, stat, previous });
    if (previous >= 0 && !sameKey) this.#told.moved(previous, () => joinPath(met.path, name));
    return { name, native, index, previous, stat, sameKey };
  }

  #meetDirectory(
    met: MetDirectory,
    entry: Pick<MetDirectory, 'index' | 'previous' | 'stat'> & { readonly name: ByteString },
    directories: MetDirectory[],
  ): void {
    const { index, previous, stat } = entry;
    const path = joinPath(met.path, entry.name);
    const verdict = this.#judge.directory(path, previous, met.inherited);
    const inherited = verdict.kind === 'left-out' ? verdict.why : '';
    if (inherited !== '' && !this.#request.coverage.mayIncludeBelow(path)) {
      this.#rows.leaveOut(entry, inherited);
      return;
    }
    const device = this.#deviceOf(stat, met, path);
    directories.push({ path, index, previous, stat, device, inherited });
  }

  #meetLeaf(met: MetDirectory, entry: MetEntry, files: MetEntry[]): void {
    const { coverage } = this.#request;
    if (coverage.judgesFiles || met.inherited !== '') {
      const verdict = coverage.judgeFile(joinPath(met.path, entry.name), met.inherited);
      if (verdict.kind === 'left-out') {
        this.#rows.skip(entry, 'left-out', verdict.why);
        return;
      }
    }
    if (entry.stat.isFile() || entry.stat.isFIFO()) files.push(entry);
    else if (entry.stat.isSymbolicLink()) this.#link(entry);
    else this.#rows.skip(entry, 'unreadable', `${specialName(entry.stat)} is not captured`);
  }

  #link(entry: MetEntry): void {
    try {
      const target = fs.readlinkSync(entry.native, 'latin1');
      this.#rows.setTarget(entry, target);
    } catch (error) {
      this.#rows.skip(entry, 'unreadable', `it cannot be read: ${errnoWords(error)}`);
    }
  }

  /**
   * RACE: a parent may be swapped for a link while a directory is listed by its path, and then what
   * was seen is somewhere else. Looked at again it must still be the directory that was entered; worst
   * case (swapped there and back in between) the manifest describes another tree of the same user.
   */
  #checkStill({ path, index, stat }: MetDirectory): void {
    const place = path === '' ? 'root' : this.#places.reach(path);
    if (place === 'root') return;
    const now = place === 'gone' ? 'absent' : lstat(place.self);
    if (now !== 'absent' && now.ino === stat.ino && now.dev === stat.dev) return;
    this.#rows.unlist({ index, previous: -1 }, CHANGED_MEANWHILE);
  }

  #deviceOf(stat: Pick<Stat, 'dev'>, met: MetDirectory, path = met.path): Device {
    if (stat.dev === met.stat.dev) return met.device;
    return this.#devices.at(stat.dev, this.#places.absolute(path));
  }
}
