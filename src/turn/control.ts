import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import { join } from 'node:path';
import * as v from 'valibot';
import type { Image } from '../core/image.js';
import { decodeImage, encodeBytes, imageToJson } from '../core/image-codec.js';
import { errnoOf } from '../core/problem.js';
import { ProcessIdentitySchema } from '../core/records.js';
import { isRelPath, type RelPath } from '../core/relpath.js';
import { makePrivateDirectory } from '../files/durable.js';
import { isAlive } from '../files/process-identity.js';
import type { EarlyHash } from '../scan/request.js';
import type { StoreLayout } from '../store/layout.js';

/** Files of one open step, in a directory of its own below the store's control directory. */
export type Control = {
  readonly token: string;
  readonly directory: string;
  /** What the watcher host is to do. */
  readonly task: string;
  /** Cookies are written here; the host watches it. */
  readonly cookies: string;
  /** What the watcher host says, in order: see {@link HostLineSchema}. */
  readonly events: string;
  /** Hashes made while the command runs: see {@link EarlyLineSchema}. */
  readonly early: string;
  /** Pre-images that were asked for by path: see {@link CaptureLineSchema}. */
  readonly captures: string;
  /** Paths that the library writes, before it stages them: see {@link DraftLineSchema}. */
  readonly drafts: string;
};

/** Makes the control directory of a step that is about to open. */
export function makeControl(layout: StoreLayout): Control {
  const control = controlOf(layout, `${process.pid}-${randomBytes(6).toString('hex')}`);
  makePrivateDirectory(control.cookies);
  return control;
}

/** Names the control files of a step. */
export function controlOf(layout: StoreLayout, token: string): Control {
  const directory = join(layout.control, token);
  return {
    token,
    directory,
    task: join(directory, 'task'),
    cookies: join(directory, 'cookies'),
    events: join(directory, 'events'),
    early: join(directory, 'early'),
    captures: join(directory, 'captures'),
    drafts: join(directory, 'drafts'),
  };
}

/**
 * Removes a step's control directory: its host sees that and ends itself. What cannot be removed now
 * is swept by a later recovery.
 */
export function removeControl({ directory }: Control): void {
  try {
    fs.rmSync(directory, { recursive: true, force: true, maxRetries: 3 });
  } catch (error) {
    if (errnoOf(error) === '') throw error;
  }
}

/**
 * Lists the tokens of control directories whose maker has ended. Read the log after this, never
 * before: what a maker has named there is seen then, and what it has not named is nobody's.
 */
export function orphanedControls({ control }: StoreLayout): string[] {
  return fs.readdirSync(control).filter((token) => {
    const [pid = ''] = token.split('-', 1);
    return /^\d+$/.test(pid) && !isAlive({ pid: Number(pid), start: '', boot: '' });
  });
}

/** The control directory of a process that is at work, or of a step that is open. */
export type Lease = { readonly token: string; readonly pid: number };

/**
 * Lists the control directories. Whoever is about to rely on what the store holds has one before it
 * looks there, and keeps it until the log names what it relied on.
 */
export function listLeases(layout: StoreLayout): Lease[] {
  return fs.readdirSync(layout.control).flatMap((token) => {
    const pid = Number(/^(\d+)-[0-9a-f]+$/.exec(token)?.[1] ?? 0);
    return pid === 0 ? [] : [{ token, pid }];
  });
}

/** A line of the watcher host. */
export const HostLineSchema = v.variant('t', [
  v.object({ t: v.literal('host'), identity: ProcessIdentitySchema }),
  v.object({ t: v.literal('ready'), watcher: v.picklist(['parcel', 'chokidar']) }),
  v.object({ t: v.literal('scan-only'), reason: v.string() }),
  v.object({ t: v.literal('trouble'), reason: v.string() }),
  v.object({ t: v.literal('cookie'), name: v.string() }),
  v.object({
    t: v.literal('event'),
    at: v.number(),
    event: v.picklist(['create', 'update', 'delete']),
    path: v.string(),
  }),
]);

/** What the watcher host says. */
export type HostLine = v.InferOutput<typeof HostLineSchema>;

const Path = v.pipe(
  v.union([v.string(), v.object({ b64: v.string() })]),
  v.transform((value) =>
    typeof value === 'string'
      ? Buffer.from(value, 'utf8').toString('latin1')
      : Buffer.from(value.b64, 'base64').toString('latin1'),
  ),
  v.custom<RelPath>((value) => typeof value === 'string' && isRelPath(value)),
);

/** A hash that was made while the command ran, and the pack that its bytes went to. */
export const EarlyLineSchema = v.object({
  path: Path,
  stamp: v.string(),
  sha256: v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/)),
  settled: v.boolean(),
  pack: v.number(),
});

/** Writes a line for {@link EarlyLineSchema}; `pack` 0 where the bytes were safe already. */
export function earlyLine(path: RelPath, early: EarlyHash, pack: number): unknown {
  return { path: encodeBytes(path), ...early, pack };
}

/** A pre-image that was asked for by path. */
export const CaptureLineSchema = v.pipe(
  v.object({ path: Path, image: v.unknown() }),
  v.transform(({ path, image }) => ({ path, image: decodeImage(image) })),
);

/** A path beside which a draft may stand. */
export const DraftLineSchema = v.object({ path: Path });

/** Writes a line for {@link DraftLineSchema}. */
export function draftLine(path: RelPath): unknown {
  return { path: encodeBytes(path) };
}

/** Writes a line for {@link CaptureLineSchema}. */
export function captureLine(path: RelPath, image: Image): unknown {
  return { path: encodeBytes(path), image: imageToJson(image) };
}
