import { foldHistory, type History, newestManifest } from '../core/history.js';
import type { Sha256 } from '../core/image.js';
import { mendRecords, type Salvaged } from '../core/mend.js';
import { PreimageError } from '../core/problem.js';
import { encodeRecord, type LogRecord } from '../core/records.js';
import { BigFiles } from '../store/big-files.js';
import { type CheckedFiles, checkFiles, hashNamed } from '../store/check-files.js';
import { type CheckedPack, checkPacks } from '../store/check-packs.js';
import { loadChanges } from '../store/details.js';
import { readBytes } from '../store/log.js';
import { type LogPiece, surveyLog } from '../store/log-survey.js';
import { readLostContents } from '../store/lost-contents.js';
import { readManifest } from '../store/manifests.js';
import { RetiredList } from '../store/retired.js';
import { Trash } from '../store/trash.js';
import { readCaptures } from './captures.js';
import { controlOf } from './control.js';
import { eachBeside, eachCaptured, eachContent, refsOf } from './named.js';
import type { Workspace } from './workspace.js';

/** A store with every byte of it read: what is there, what is needed, what is not what was written. */
export type Examined = {
  readonly pieces: readonly LogPiece[];
  /** The history as far as it is known: the log's own where it is whole, else mended. */
  readonly records: readonly LogRecord[];
  readonly history: History;
  /** The log has to be written anew for it to be whole. */
  readonly logIsWhole: boolean;
  readonly manifests: CheckedFiles;
  readonly details: CheckedFiles;
  readonly big: CheckedFiles;
  readonly packs: readonly CheckedPack[];
  readonly damagedRetiredLines: number;
  /** Contents that are needed and whole nowhere. */
  readonly lost: ReadonlySet<Sha256>;
  /** Those of them that an earlier repair has told already. */
  readonly knownLost: ReadonlySet<Sha256>;
  /** Contents that the workspace as it was last scanned, or an open step, takes for safe. */
  readonly vouchedFor: ReadonlySet<Sha256>;
};

/** Reads and checks everything in a store. Changes nothing. */
export function examine(workspace: Workspace, onProgress: (bytes: number) => void): Examined {
  const { layout } = workspace;
  const pieces = surveyLog(readBytes(layout.log));
  const details = checkFiles(hashNamed(layout.details));
  const manifests = checkFiles(hashNamed(layout.manifests));
  const bigFiles = new BigFiles(layout.big);
  const big = checkFiles(new Map(bigFiles.contents().map((name) => [name, bigFiles.path(name)])));
  onProgress(details.bytes + manifests.bytes + big.bytes);
  const read = pieces.flatMap((piece) => (piece.kind === 'line' ? [piece.parsed.record] : []));
  const records = mendRecords(pieces.flatMap(salvagedOf), {
    hasDetail: (sha256) => details.whole.has(sha256),
    hasManifest: (id) => manifests.whole.has(id),
  });
  const isWhole = pieces.every(({ kind }) => kind === 'line' || kind === 'torn');
  const logIsWhole = isWhole && sameRecords(read, records);
  const history = foldHistory(records);
  const packs = checkPacks(layout.packs, onProgress);
  const needed = new Set<Sha256>();
  for (const step of history.steps) {
    for (const ref of refsOf(step).changes) {
      eachContent(loadChanges(layout.details, ref), (sha256) => needed.add(sha256));
    }
    eachBeside(step, (sha256) => needed.add(sha256));
  }
  const vouchedFor = vouched(workspace, history, manifests);
  const lost = new Set<Sha256>();
  const there = new Set([...big.whole, ...new Trash(layout).contents()]);
  for (const { good } of packs) for (const sha256 of good.keys()) there.add(sha256);
  for (const contents of [needed, vouchedFor]) {
    for (const sha256 of contents) if (!there.has(sha256)) lost.add(sha256);
  }
  return {
    pieces,
    records,
    history,
    logIsWhole,
    manifests,
    details,
    big,
    packs,
    damagedRetiredLines: new RetiredList(layout.packs).damagedLines(),
    lost,
    knownLost: readLostContents(layout.damaged),
    vouchedFor,
  };
}

/** Names, for each of these contents, the turns that have a step with an image of it. */
export function turnsWith(
  { layout }: Workspace,
  history: History,
  contents: ReadonlySet<Sha256>,
): Map<Sha256, Set<string>> {
  const turns = new Map<Sha256, Set<string>>();
  if (contents.size === 0) return turns;
  for (const step of history.steps) {
    const note = (sha256: Sha256): void => {
      if (!contents.has(sha256)) return;
      turns.set(sha256, (turns.get(sha256) ?? new Set()).add(step.open.turn));
    };
    for (const ref of refsOf(step).changes) {
      eachContent(loadChanges(layout.details, ref), note);
    }
    eachBeside(step, note);
  }
  return turns;
}

function salvagedOf(piece: LogPiece): Salvaged[] {
  switch (piece.kind) {
    case 'line':
      return [{ kind: 'record', record: piece.parsed.record }];
    case 'damaged':
      return [{ kind: 'lost', step: piece.step, turn: piece.turn }];
    case 'missing':
      return [{ kind: 'lost', step: 'unknown', turn: 'unknown' }];
    case 'torn':
    case 'no-end':
      return [];
  }
}

function sameRecords(a: readonly LogRecord[], b: readonly LogRecord[]): boolean {
  if (a.length !== b.length) return false;
  return a.every((record, i) => {
    const other = b[i];
    return other !== undefined && encodeRecord(record) === encodeRecord(other);
  });
}

/** Contents that the newest manifest and those of open steps name, and captures by name. */
function vouched({ layout }: Workspace, history: History, manifests: CheckedFiles): Set<Sha256> {
  const contents = new Set<Sha256>();
  const open = history.steps.filter((step) => step.kind === 'work' && step.end.kind === 'open');
  const ids = new Set([newestManifest(history)]);
  for (const step of open) if (step.kind === 'work') ids.add(step.open.manifest);
  for (const id of ids) {
    const manifest = manifests.whole.has(id) ? readManifest(layout.manifests, id) : 'missing';
    if (manifest !== 'missing') eachCaptured(manifest, (sha256) => contents.add(sha256));
  }
  for (const step of open) {
    if (step.kind !== 'work') continue;
    try {
      for (const image of readCaptures(controlOf(layout, step.open.control)).values()) {
        if (image.kind === 'content' && image.type === 'file') contents.add(image.sha256);
      }
    } catch (error) {
      if (!(error instanceof PreimageError)) throw error;
    }
  }
  return contents;
}
