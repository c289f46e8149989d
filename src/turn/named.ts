import type { Change } from '../core/change.js';
import { type History, newestManifest, type Step } from '../core/history.js';
import type { Image, Sha256 } from '../core/image.js';
import { Kin } from '../core/kin.js';
import type { Manifest } from '../core/manifest.js';
import { ENTRY, FLAG, KEY } from '../core/manifest-columns.js';
import { PreimageError } from '../core/problem.js';
import type { ChangesRef, CloseRecord, LogRecord } from '../core/records.js';
import { loadChanges } from '../store/details.js';
import type { StoreLayout } from '../store/layout.js';
import { readManifest } from '../store/manifests.js';
import { LARGE_BYTES } from '../store/repacker.js';
import { SpoolReader } from '../store/spool.js';
import { readCaptures } from './captures.js';
import { controlOf, EarlyLineSchema } from './control.js';

/** Something that is needed: by the steps that opened up to a line, and how large it is. */
type Need = {
  /** The last line at which a step opened that names it; infinity for what is needed in any case. */
  readonly until: number;
  readonly bytes: number;
};

/** All that the log and the open steps name. */
export type Named = {
  readonly contents: Map<Sha256, Need>;
  /** Lists of changes and of events. */
  readonly details: Map<string, Need>;
  readonly manifests: Set<string>;
  /** Which large contents are versions of one file. */
  readonly kin: Kin;
};

/**
 * Collects what a history names. Throws `damaged` where a list that names contents cannot be read:
 * then nobody can say what is needed.
 */
export function namedBy(layout: StoreLayout, history: History): Named {
  const named: Named = nothingNamed();
  for (const step of history.steps) addStep(layout, named, step);
  const newest = newestManifest(history);
  if (newest !== 'none') addNewest(layout, named, newest);
  for (const step of history.steps) {
    if (step.kind !== 'work' || step.end.kind !== 'open') continue;
    if (addManifest(layout, named, step.open.manifest) === 'missing') {
      throw new PreimageError(
        'damaged',
        `The manifest of step ${step.id}, which is open, is missing from the store.`,
        { hint: 'See what is damaged with: preimage verify' },
      );
    }
    addControl(layout, named, step.open.control);
  }
  return named;
}

/** Lists the contents that one record of the log names. */
export function contentsOf(layout: StoreLayout, record: LogRecord): Set<Sha256> {
  const named = nothingNamed();
  switch (record.type) {
    case 'open':
      addManifest(layout, named, record.manifest);
      break;
    case 'close':
      addManifest(layout, named, record.manifest);
      addChanges(layout, named, { ref: record.changes, until: 0 });
      besideIn(record, (sha256, bytes) => {
        note(named.contents, sha256, { until: 0, bytes });
      });
      break;
    case 'rewind':
      addChanges(layout, named, { ref: record.plan, until: 0 });
      break;
    case 'rewound':
      addChanges(layout, named, { ref: record.changes, until: 0 });
      break;
    case 'pruned':
      break;
  }
  return new Set(named.contents.keys());
}

function nothingNamed(): Named {
  const kin = new Kin(LARGE_BYTES);
  return { contents: new Map(), details: new Map(), manifests: new Set(), kin };
}

/** Calls a function with each content of a list of changes. */
export function eachContent(
  changes: readonly Change[],
  take: (sha256: Sha256, bytes: number) => void,
): void {
  const one = (image: Image): void => {
    if (image.kind === 'content' && image.type === 'file') take(image.sha256, image.bytes);
  };
  for (const { before, after } of changes) {
    one(before);
    one(after);
  }
}

/** Calls a function with each content of a manifest. */
export function eachCaptured(
  manifest: Manifest,
  take: (sha256: Sha256, bytes: number) => void,
): void {
  for (let i = 0; i < manifest.count; i++) {
    if (manifest.type(i) !== ENTRY.file || manifest.has(i, FLAG.skipped)) continue;
    take(manifest.sha256(i), Number(manifest.key(i, KEY.size)));
  }
}

/** Lists where the changes of a step stand, and the events that it saw. */
export function refsOf(step: Step): { readonly changes: ChangesRef[]; readonly events: string[] } {
  const { end } = step;
  const changes = step.kind === 'rewind' ? [step.open.plan] : [];
  if (end.kind === 'open') return { changes, events: [] };
  changes.push(end.record.changes);
  const events = end.record.type === 'close' ? end.record.timeline.events : null;
  return { changes, events: events === null ? [] : [events] };
}

function addStep(layout: StoreLayout, named: Named, step: Step): void {
  const until = step.opened;
  const refs = refsOf(step);
  for (const ref of refs.changes) addChanges(layout, named, { ref, until });
  for (const events of refs.events) note(named.details, events, { until, bytes: 0 });
  eachBeside(step, (sha256, bytes) => {
    note(named.contents, sha256, { until, bytes });
  });
}

/** Calls a function with what a step noted beside its changes, to tell later what they mean to git. */
export function eachBeside(step: Step, take: (sha256: Sha256, bytes: number) => void): void {
  if (step.kind === 'work' && step.end.kind === 'closed') besideIn(step.end.record, take);
}

function besideIn(
  { repositories }: CloseRecord,
  take: (sha256: Sha256, bytes: number) => void,
): void {
  for (const { image } of repositories.flatMap(({ beside }) => beside)) {
    if (image.kind === 'content' && image.type === 'file') take(image.sha256, image.bytes);
  }
}

function addChanges(
  layout: StoreLayout,
  named: Named,
  { ref, until }: { readonly ref: ChangesRef; readonly until: number },
): void {
  if (ref.kind === 'detail') note(named.details, ref.sha256, { until, bytes: 0 });
  const changes = loadChanges(layout.details, ref);
  named.kin.add(changes);
  eachContent(changes, (sha256, bytes) => {
    note(named.contents, sha256, { until, bytes });
  });
}

function addManifest(layout: StoreLayout, named: Named, id: string): 'added' | 'missing' {
  if (named.manifests.has(id)) return 'added';
  const manifest = readManifest(layout.manifests, id);
  if (manifest === 'missing') return 'missing';
  named.manifests.add(id);
  eachCaptured(manifest, (sha256, bytes) => {
    note(named.contents, sha256, { until: ALWAYS, bytes });
  });
  return 'added';
}

/** Where the newest manifest is damaged nobody relies on it: the next open reads every file anew. */
function addNewest(layout: StoreLayout, named: Named, id: string): void {
  try {
    addManifest(layout, named, id);
  } catch (error) {
    if (!(error instanceof PreimageError) || error.code !== 'damaged') throw error;
  }
}

/** What an open step has captured by name, and what its host has hashed early. */
function addControl(layout: StoreLayout, named: Named, token: string): void {
  const control = controlOf(layout, token);
  for (const image of readCaptures(control).values()) {
    if (image.kind !== 'content' || image.type !== 'file') continue;
    note(named.contents, image.sha256, { until: ALWAYS, bytes: image.bytes });
  }
  for (const { sha256 } of new SpoolReader(control.early, EarlyLineSchema).read()) {
    note(named.contents, sha256, { until: ALWAYS, bytes: 0 });
  }
}

const ALWAYS = Number.POSITIVE_INFINITY;

function note(needs: Map<string, Need>, name: string, { until, bytes }: Need): void {
  const known = needs.get(name);
  if (known === undefined) needs.set(name, { until, bytes });
  else if (known.until < until || known.bytes < bytes) {
    const later = Math.max(known.until, until);
    needs.set(name, { until: later, bytes: Math.max(known.bytes, bytes) });
  }
}
