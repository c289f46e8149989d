import fs from 'node:fs';
import type { SkipCause } from '../core/image.js';
import { ENTRY, FLAG, type Manifest } from '../core/manifest.js';
import { ManifestBuilder, type StatKey } from '../core/manifest-builder.js';
import { errnoWords, isErrno, PreimageError } from '../core/problem.js';
import { type ByteString, joinPath, ROOT } from '../core/relpath.js';
import { type NativePath, toNative } from '../files/native-path.js';
import { entryType, lstat, type Stat, specialName } from '../files/stat.js';
import type { Tree } from '../files/tree.js';
import type { Device, Devices } from './devices.js';
import { FileHasher } from './file-hasher.js';
import { Judge } from './judge.js';
import { type AnyListing, KnownNames, type MetDirectory } from './known-names.js';
import { CHANGED_MEANWHILE, listDirectory, PreviousNames } from './listing.js';
import { type Place, Places } from './places.js';
import type { ScanRequest, ScanResult } from './request.js';

type MetEntry = {
  readonly name: ByteString;
  readonly native: NativePath;
  readonly index: number;
  readonly previous: number;
  readonly stat: Stat;
};

/** One walk over a workspace: builds the new manifest beside the old one, directory by directory. */
export class Walk {
  readonly #request: ScanRequest;
  readonly #devices: Devices;
  readonly #builder = new ManifestBuilder();
  readonly #hasher: FileHasher;
  readonly #judge: Judge;
  readonly #places: Places;
  readonly #knownNames: KnownNames;
  readonly #baseline: Manifest | 'none';
  readonly #takenAt = Date.now();
  /** No entry differs from the baseline in place, key or text. */
  #identical: boolean;

  constructor(request: ScanRequest, tree: Tree, devices: Devices) {
    this.#request = request;
    this.#judge = new Judge(request);
    this.#places = new Places(request, tree);
    this.#knownNames = new KnownNames(request, this.#builder);
    this.#devices = devices;
    this.#baseline = request.baseline;
    this.#identical = request.baseline !== 'none';
    this.#hasher = new FileHasher(request, this.#builder);
  }

  run(): ScanResult {
    const { root } = this.#request;
    const stat = statRoot(root);
    if (stat === 'absent') {
      const { none } = ENTRY;
      this.#builder.add({ parent: 0, name: '', type: none, flags: 0, key: NO_KEY, text: '' });
      this.#identical = false;
      return this.#result();
    }
    const previous = this.#baseline === 'none' ? -1 : 0;
    const index = this.#add({ parent: 0, name: '', type: ENTRY.directory, stat, previous });
    const device = this.#devices.at(stat.dev, root);
    this.#directory({ path: ROOT, index, previous, stat, device, inherited: '' });
    return this.#result();
  }

  #result(): ScanResult {
    const { warnings, hashedFiles, hashedBytes, files, bytes, changed } = this.#hasher;
    const counts = { warnings, hashedFiles, hashedBytes };
    const baseline = this.#baseline;
    if (baseline !== 'none' && this.#identical && !changed) {
      if (this.#builder.count === baseline.count) return { manifest: baseline, ...counts };
    }
    const { packs, round } = this.#request;
    const takenAt = this.#takenAt;
    const manifest = this.#builder.finish({ takenAt, files, bytes, packs: packs(), round });
    return { manifest, ...counts };
  }

  #directory(met: MetDirectory): void {
    const place = this.#places.reach(met.path);
    if (place === 'gone') {
      this.#unlisted(met, CHANGED_MEANWHILE);
      return;
    }
    const known = this.#knownNames.of(met);
    if (known !== 'unknown' && this.#judged(met, known, place) === 'done') return;
    const listing = listDirectory(place.self);
    if (listing.kind === 'unknown') {
      this.#unlisted(met, listing.reason);
      return;
    }
    if (this.#knownNames.settle(met) === 'news') this.#identical = false;
    this.#judged(met, listing, place);
  }

  #judged(met: MetDirectory, listing: AnyListing, place: Place): 'done' | 'stale' {
    const verdict = this.#judge.marks(met, listing.names, place.at);
    if (verdict.kind === 'covered') return this.#entries(met, listing, place);
    if (this.#request.coverage.mayIncludeBelow(met.path)) {
      return this.#entries({ ...met, inherited: verdict.why }, listing, place);
    }
    this.#leaveOut(met, verdict.why);
    return 'done';
  }

  /**
   * Adds a directory's entries side by side, then hashes its files, then goes into its directories.
   * `stale` where a name of the baseline is gone although its directory's stamps did not move: then
   * nothing was added, and the directory must be listed.
   */
  #entries(met: MetDirectory, listing: AnyListing, place: Place): 'done' | 'stale' {
    const { at: reach } = place;
    const start = this.#builder.mark();
    const previous = new PreviousNames(this.#baseline, met.previous);
    const files: MetEntry[] = [];
    const directories: MetDirectory[] = [];
    for (const name of listing.names) {
      const native = reach(name);
      const entry = this.#meet(met, { name, native, previous: previous.seek(name) });
      if (entry === 'nothing' && listing.kind === 'known') {
        this.#builder.rollBack(start);
        return 'stale';
      }
      if (entry === 'nothing') continue;
      if (entry.stat.isDirectory()) this.#meetDirectory(met, entry, directories);
      else this.#meetLeaf(met, entry, files);
    }
    this.#builder.setChildren(met.index, start.count, this.#builder.count - start.count);
    for (const { name, native, index, previous: before, stat } of files) {
      this.#hasher.hash({
        index,
        previous: before,
        stat,
        device: this.#deviceOf(stat, met),
        path: native,
        relative: () => joinPath(met.path, name),
      });
    }
    this.#checkStill(met);
    this.#request.onProgress({ entries: this.#builder.count, bytes: this.#hasher.bytes });
    for (const directory of directories) this.#directory(directory);
    return 'done';
  }

  #meet(
    met: MetDirectory,
    { name, native, previous }: Pick<MetEntry, 'name' | 'native' | 'previous'>,
  ): MetEntry | 'nothing' {
    let stat: Stat | 'absent';
    try {
      stat = lstat(native);
    } catch (error) {
      const text = `it cannot be looked at: ${errnoWords(error)}`;
      const flags = FLAG.skipped | FLAG.unlisted;
      this.#builder.add({ parent: met.index, name, type: ENTRY.other, flags, key: NO_KEY, text });
      this.#identical = false;
      return 'nothing';
    }
    if (stat === 'absent' || (stat.isDirectory() && this.#places.isStore(met.path, name)))
      return 'nothing';
    const type = entryType(stat);
    const index = this.#add({ parent: met.index, name, type, stat, previous });
    return { name, native, index, previous, stat };
  }

  #meetDirectory(met: MetDirectory, entry: MetEntry, directories: MetDirectory[]): void {
    const { index, previous, stat } = entry;
    const path = joinPath(met.path, entry.name);
    const verdict = this.#judge.directory(path, previous, met.inherited);
    const inherited = verdict.kind === 'left-out' ? verdict.why : '';
    if (inherited !== '' && !this.#request.coverage.mayIncludeBelow(path)) {
      this.#leaveOut(entry, inherited);
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
        this.#skip(entry, 'left-out', verdict.why);
        return;
      }
    }
    if (entry.stat.isFile()) files.push(entry);
    else if (entry.stat.isSymbolicLink()) this.#link(entry);
    else if (!entry.stat.isFIFO())
      this.#skip(entry, 'unreadable', `${specialName(entry.stat)} is not captured`);
  }

  #link(entry: MetEntry): void {
    try {
      const target = fs.readlinkSync(entry.native, 'latin1');
      this.#builder.setText(entry.index, target);
      this.#compareText(entry.previous, target);
    } catch (error) {
      this.#skip(entry, 'unreadable', `it cannot be read: ${errnoWords(error)}`);
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
    this.#builder.setUnlisted(index, CHANGED_MEANWHILE);
    this.#identical = false;
  }

  #add(entry: {
    readonly parent: number;
    readonly name: ByteString;
    readonly type: number;
    readonly stat: Stat;
    readonly previous: number;
  }): number {
    const { parent, name, type, stat, previous } = entry;
    const index = this.#builder.add({ parent, name, type, flags: 0, key: stat, text: '' });
    if (this.#identical) {
      this.#identical =
        this.#baseline !== 'none' &&
        previous === index &&
        this.#builder.sameKey(index, this.#baseline, previous);
    }
    return index;
  }

  #skip({ index, previous }: Met, why: SkipCause, reason: string): void {
    this.#builder.setSkipped(index, why, reason);
    this.#compareText(previous, reason);
  }

  #leaveOut(met: Met, reason: string): void {
    this.#builder.setUnlisted(met.index, reason);
    this.#skip(met, 'left-out', reason);
  }

  #unlisted({ index, previous }: Met, reason: string): void {
    this.#builder.setUnlisted(index, reason);
    this.#compareText(previous, reason);
  }

  #compareText(previous: number, text: string): void {
    const known = this.#baseline !== 'none' && previous >= 0;
    if (!known || this.#baseline.text(previous) !== text) this.#identical = false;
  }

  #deviceOf(stat: Stat, met: MetDirectory, path = met.path): Device {
    if (stat.dev === met.stat.dev) return met.device;
    return this.#devices.at(stat.dev, this.#places.absolute(path));
  }
}

type Met = { readonly index: number; readonly previous: number };
const NO_KEY: StatKey = {
  dev: 0n,
  ino: 0n,
  mode: 0n,
  uid: 0n,
  gid: 0n,
  size: 0n,
  mtimeNs: 0n,
  ctimeNs: 0n,
};

/** Looks at the root; links above it and at it are the user's own and are followed. */
function statRoot(root: ByteString): Stat | 'absent' {
  try {
    const stat = fs.statSync(toNative(root), { bigint: true });
    if (stat.isDirectory()) return stat;
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ENOTDIR')) return 'absent';
    throw new PreimageError('cannot-read', `Cannot scan the workspace: ${errnoWords(error)}.`, {
      cause: error,
    });
  }
  throw new PreimageError('cannot-read', 'Cannot scan the workspace: it is no directory.');
}
