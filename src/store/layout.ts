import crypto from 'node:crypto';
import fs from 'node:fs';
import { dirname, join } from 'node:path';
import * as v from 'valibot';
import { encodeBytes } from '../core/image-codec.js';
import { errnoWords, isErrno, PreimageError } from '../core/problem.js';
import { STORE_VERSION } from '../core/records.js';
import { type ByteString, fromText } from '../core/relpath.js';
import { makePrivateDirectory, syncDirectory, writeDurably } from '../files/durable.js';

/** Where everything of one workspace is kept. */
export type StoreLayout = {
  readonly directory: string;
  /** Absolute real path of the workspace, as a byte string. */
  readonly root: ByteString;
  readonly packs: string;
  /** Files over the size limit, as clones or hard links: see `big-files.ts`. */
  readonly big: string;
  readonly manifests: string;
  /** Lists of changes and of events that are too long for the log, named by their hash. */
  readonly details: string;
  /** One directory an open step: what its watcher host says, explicit captures. */
  readonly control: string;
  readonly locks: string;
  readonly log: string;
  /** What `verify --repair` has set aside. */
  readonly damaged: string;
};

/** Opens the store in a directory; `none` where there is none yet. */
export function openStoreAt(directory: string): StoreLayout | 'none' {
  const path = join(directory, IDENTITY_FILE);
  let text: string;
  try {
    text = fs.readFileSync(path, 'utf8');
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ENOTDIR')) return 'none';
    throw new PreimageError('cannot-store', `Cannot read the store at ${directory}.`, {
      hint: 'Check its permissions: it belongs to the user who made it.',
      cause: error,
    });
  }
  const identity = decodeIdentity(text);
  if (identity === 'damaged') {
    throw new PreimageError('damaged', `The store's own description ${path} cannot be read.`, {
      hint: 'All else is in the files beside it; write it anew with: preimage verify --repair',
    });
  }
  const { version, root } = identity;
  if (version > STORE_VERSION) {
    throw new PreimageError(
      'newer-store',
      `The store at ${directory} has format ${version}; this preimage knows ${STORE_VERSION}.`,
      { hint: 'Use the newer preimage that made it, or give another --store.' },
    );
  }
  const layout = layoutOf(directory, root);
  refuseLinks(layout);
  return layout;
}

/** A store that leads elsewhere through a link was not made so: what is written stays in the store. */
function refuseLinks(layout: StoreLayout): void {
  for (const path of [...directoriesIn(layout), layout.log]) {
    const stat = fs.lstatSync(path, { throwIfNoEntry: false });
    const wanted = path === layout.log ? stat?.isFile() : stat?.isDirectory();
    if (stat === undefined || wanted === true) continue;
    const what = stat.isSymbolicLink() ? 'a link' : 'of another type';
    throw new PreimageError('damaged', `The store's own ${path} was replaced: it is ${what}.`, {
      hint: 'Nothing was touched. Put back what it was, or move the store aside to start anew.',
    });
  }
}

/** Makes the store of a workspace, or opens it if somebody was faster. */
export function createStoreAt(directory: string, root: ByteString): StoreLayout {
  const layout = layoutOf(directory, root);
  try {
    for (const path of [directory, ...directoriesIn(layout)]) makePrivateDirectory(path);
    const known = openStoreAt(directory);
    if (known !== 'none') return known;
    writeIdentity(directory, root);
    syncDirectory(dirname(directory));
    return layout;
  } catch (error) {
    if (error instanceof PreimageError) throw error;
    throw new PreimageError(
      'cannot-store',
      `Cannot make the store ${directory}: ${errnoWords(error)}.`,
      {
        hint: 'Give a place that can be written with --store DIR or PREIMAGE_STORE.',
        cause: error,
      },
    );
  }
}

/** Writes the store's own description. */
export function writeIdentity(directory: string, root: ByteString): void {
  const identity = {
    version: STORE_VERSION,
    root: encodeBytes(root),
    check: checkOf(STORE_VERSION, root),
  };
  const json = `${JSON.stringify(identity)}\n`;
  writeDurably(join(directory, IDENTITY_FILE), [Buffer.from(json, 'utf8')]);
}

/** The store's own description: its format and the workspace that it belongs to. */
export const IDENTITY_FILE = 'store.json';

const Version = v.pipe(v.number(), v.integer(), v.minValue(1));
const Root = v.union([v.string(), v.object({ b64: v.pipe(v.string(), v.base64()) })]);

const IdentitySchema = v.strictObject({
  version: Version,
  root: Root,
  /** A store with the wrong root would put files where they do not belong: see {@link checkOf}. */
  check: v.optional(v.string()),
});

function directoriesIn({ packs, manifests, details, control, locks }: StoreLayout): string[] {
  return [packs, manifests, details, control, locks];
}

/** What a newer format must still have, to be told as one. */
const NewerSchema = v.object({ version: Version, check: v.optional(v.string()) });

type Identity = { readonly version: number; readonly root: ByteString };

function decodeIdentity(text: string): Identity | 'damaged' {
  const newer = v.safeParse(v.pipe(v.string(), v.parseJson(), NewerSchema), text);
  if (!newer.success) return 'damaged';
  const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), IdentitySchema), text);
  if (parsed.success) {
    const { version, root: encoded, check } = parsed.output;
    const root = typeof encoded === 'string' ? fromText(encoded) : fromBase64(encoded.b64);
    if (check === undefined || check === checkOf(version, root)) return { version, root };
    // A check that fits our own format: it is the number that is wrong.
    if (version <= STORE_VERSION || check === checkOf(STORE_VERSION, root)) return 'damaged';
  }
  const { version } = newer.output;
  return version > STORE_VERSION ? { version, root: '' } : 'damaged';
}

function checkOf(version: number, root: ByteString): string {
  return crypto.hash('sha256', Buffer.from(`${version}\n${root}`, 'latin1'), 'hex');
}

function layoutOf(directory: string, root: ByteString): StoreLayout {
  return {
    directory,
    root,
    packs: join(directory, 'packs'),
    big: join(directory, 'big'),
    manifests: join(directory, 'manifests'),
    details: join(directory, 'details'),
    control: join(directory, 'control'),
    locks: join(directory, 'locks'),
    log: join(directory, 'log'),
    damaged: join(directory, 'damaged'),
  };
}

function fromBase64(text: string): ByteString {
  return Buffer.from(text, 'base64').toString('latin1');
}
