import fs from 'node:fs';
import { dirname, join } from 'node:path';
import * as v from 'valibot';
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
  const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), IdentitySchema), text);
  if (!parsed.success) {
    throw new PreimageError('damaged', `The store's own description ${path} cannot be read.`, {
      hint: 'Its history is in the files beside it; restore that file from a copy of the store.',
    });
  }
  const { version, root } = parsed.output;
  if (version > STORE_VERSION) {
    throw new PreimageError(
      'newer-store',
      `The store at ${directory} has format ${version}; this preimage knows ${STORE_VERSION}.`,
      { hint: 'Use the newer preimage that made it, or give another --store.' },
    );
  }
  const layout = layoutOf(
    directory,
    typeof root === 'string' ? fromText(root) : fromBase64(root.b64),
  );
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
    const encoded = Buffer.from(root, 'latin1');
    const text = encoded.toString('utf8');
    const lossy = !Buffer.from(text, 'utf8').equals(encoded);
    const identity = {
      version: STORE_VERSION,
      root: lossy ? { b64: encoded.toString('base64') } : text,
    };
    const json = `${JSON.stringify(identity)}\n`;
    writeDurably(join(directory, IDENTITY_FILE), [Buffer.from(json, 'utf8')]);
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

const IDENTITY_FILE = 'store.json';

const IdentitySchema = v.object({
  version: v.pipe(v.number(), v.integer(), v.minValue(1)),
  root: v.union([v.string(), v.object({ b64: v.pipe(v.string(), v.base64()) })]),
});

function directoriesIn({ packs, manifests, details, control, locks }: StoreLayout): string[] {
  return [packs, manifests, details, control, locks];
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
  };
}

function fromBase64(text: string): ByteString {
  return Buffer.from(text, 'base64').toString('latin1');
}
