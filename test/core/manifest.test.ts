import fc from 'fast-check';
import { expect, test } from 'vitest';
import { diffManifests } from '../../src/core/diff.js';
import { sameImage } from '../../src/core/image.js';
import type { Manifest } from '../../src/core/manifest.js';
import { ManifestBuilder } from '../../src/core/manifest-builder.js';
import { decodeManifest, encodeManifest } from '../../src/core/manifest-codec.js';
import { ENTRY, FLAG } from '../../src/core/manifest-columns.js';
import { relPath } from '../../src/core/relpath.js';

/** A tree as a model: a file is a letter, a directory a record; `null` a directory that is not listed. */
type Model = { readonly [name: string]: string | Model | null };

const { tree: anyModel } = fc.letrec<{ tree: Model; node: string | Model | null }>((tie) => ({
  tree: fc.dictionary(fc.constantFrom('a', 'b', 'a-', 'c', 'd\xff'), tie('node'), { maxKeys: 4 }),
  node: fc.oneof({ maxDepth: 3 }, fc.constantFrom('x', 'y'), tie('tree'), fc.constant(null)),
}));

function manifestOf(model: Model): Manifest {
  const builder = new ManifestBuilder();
  builder.add({
    parent: 0,
    name: '',
    type: ENTRY.directory,
    flags: 0,
    key: key(0o40755),
    text: '',
  });
  fill(builder, 0, model);
  return builder.finish({
    takenAt: 0,
    files: 0,
    bytes: 0,
    packs: [],
    round: 1,
    attributes: false,
    clock: '',
  });
}

function fill(builder: ManifestBuilder, parent: number, model: Model): void {
  const names = Object.keys(model).sort();
  const start = builder.count;
  for (const name of names) {
    const node = model[name];
    if (typeof node === 'string') {
      const index = builder.add({
        parent,
        name,
        type: ENTRY.file,
        flags: 0,
        key: key(0o100644),
        text: '',
      });
      builder.setHash(index, Buffer.alloc(32, node).toString('hex'));
    } else {
      const flags = node === null ? FLAG.unlisted : 0;
      const text = node === null ? 'not listed' : '';
      builder.add({ parent, name, type: ENTRY.directory, flags, key: key(0o40755), text });
    }
  }
  builder.setChildren(parent, start, names.length);
  names.forEach((name, i) => {
    const node = model[name];
    if (typeof node === 'object' && node !== null) fill(builder, start + i, node);
  });
}

function key(mode: number) {
  return {
    dev: 1n,
    ino: 2n,
    mode: BigInt(mode),
    uid: 0n,
    gid: 0n,
    size: 1n,
    mtimeNs: 1n,
    ctimeNs: 1n,
  };
}

/** Lists all paths of a model, and of each whether it is known to be complete below. */
function paths(model: Model, prefix = ''): string[] {
  return Object.entries(model).flatMap(([name, node]) => [
    prefix + name,
    ...(typeof node === 'object' && node !== null ? paths(node, `${prefix}${name}/`) : []),
  ]);
}

test('a manifest that is written and loaded says the same of every path', () => {
  fc.assert(
    fc.property(anyModel, (model) => {
      const manifest = manifestOf(model);
      const bytes = Buffer.concat(encodeManifest(manifest));
      const loaded = decodeManifest(new Uint8Array(bytes).buffer);
      for (const path of ['', ...paths(model), 'nowhere', 'a/nowhere']) {
        const asked = relPath(path);
        expect(loaded.imageAt(asked)).toEqual(manifest.imageAt(asked));
        expect(loaded.find(asked)).toBe(manifest.find(asked));
        if (loaded.find(asked) >= 0) expect(loaded.path(loaded.find(asked))).toBe(path);
      }
    }),
  );
});

test('a manifest file that is cut off or not one is refused', () => {
  const bytes = Buffer.concat(encodeManifest(manifestOf({ a: 'x', b: { c: 'y' } })));
  const cut = (length: number) => new Uint8Array(bytes.subarray(0, length)).buffer;
  for (const length of [0, 8, 15, 40, bytes.length - 9]) {
    expect(() => decodeManifest(cut(length))).toThrow(RangeError);
  }
  expect(() => decodeManifest(new ArrayBuffer(64))).toThrow(RangeError);
});

test('the diff of two manifests is what a comparison path by path finds', () => {
  fc.assert(
    fc.property(anyModel, anyModel, (one, other) => {
      const [before, after] = [manifestOf(one), manifestOf(other)];
      const all = [...new Set([...paths(one), ...paths(other)])].map(relPath);
      const expected = all.filter((path) => !sameImage(before.imageAt(path), after.imageAt(path)));
      const changes = diffManifests(before, after);
      expect(new Set(changes.map(({ path }) => path))).toEqual(new Set(expected));
      for (const { path, before: was, after: is } of changes) {
        expect(was).toEqual(before.imageAt(path));
        expect(is).toEqual(after.imageAt(path));
      }
    }),
    { numRuns: 500 },
  );
});

test('what lies in a directory that was not listed is never said to be absent', () => {
  const before = manifestOf({ closed: null, open: {} });
  const after = manifestOf({ closed: { file: 'x' }, open: { file: 'x' } });
  const changes = new Map(diffManifests(before, after).map((change) => [change.path, change]));
  expect(changes.get(relPath('closed/file'))?.before.kind).toBe('skipped');
  expect(changes.get(relPath('open/file'))?.before.kind).toBe('absent');
});
