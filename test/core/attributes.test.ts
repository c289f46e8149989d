import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  changedNames,
  changeOfAttributes,
  isAttributes,
  listAttributes,
  parseDump,
} from '../../src/core/attributes.js';
import { ABSENT, type FileImage, sameImage } from '../../src/core/image.js';
import { decodeImage, imageToJson } from '../../src/core/image-codec.js';
import { ManifestBuilder } from '../../src/core/manifest-builder.js';
import { decodeManifest, encodeManifest } from '../../src/core/manifest-codec.js';
import { ENTRY, NOT_KNOWN } from '../../src/core/manifest-columns.js';
import { planRewind } from '../../src/core/plan.js';
import { relPath } from '../../src/core/relpath.js';
import { squashOf } from '../../src/core/squash.js';

const bare: FileImage = {
  kind: 'content',
  type: 'file',
  sha256: '0'.repeat(64),
  bytes: 0,
  mode: 0o644,
  uid: 0,
  gid: 0,
  mtimeNs: 0n,
  link: '',
  sparse: false,
};
const none: FileImage = { ...bare, attributes: '' };
const some: FileImage = { ...bare, attributes: 'user.a=MQ==' };

test('a dump of getfattr is read with the bytes of its paths and names', () => {
  const dump = [
    '# file: /a b\nuser.z=0sAA==\nsystem.posix_acl_access=0sAgA=\nuser.empty=0s\nuser.bare\n',
    '# file: /new\\012line\\134\nuser.a\\075b=0sMQ==\n',
    '# file: /\xff# file: x\nuser.\xff =0sMQ==\n\n',
  ].join('\n');
  expect([...parseDump(dump)]).toEqual([
    ['/a b', 'system.posix_acl_access=AgA=\nuser.bare=\nuser.empty=\nuser.z=AA=='],
    ['/new\nline\\', 'user.a\\075b=MQ=='],
    ['/\xff# file: x', 'user.\\377\\040=MQ=='],
  ]);
});

test('a dump that is not understood is not known, and not taken for none', () => {
  expect([...parseDump('# file: /a\nuser.a="1"\n\n')]).toEqual([['/a', undefined]]);
  expect([...parseDump('# file: /a\nsecurity.selinux=0sAA==\n\n')]).toEqual([['/a', undefined]]);
});

test.each([
  ['a namespace of the system', 'trusted.a=MQ=='],
  ['a label of the system', 'security.selinux=MQ=='],
  ['a name that ends early', 'user.a\\000b=MQ=='],
  ['no name', 'user.=MQ=='],
  ['an option', '-x=MQ=='],
  ['a value that is not base64', 'user.a=M Q'],
  ['a line more', 'user.a=MQ==\n'],
])('a history that names %s is refused', (_, attributes) => {
  expect(isAttributes(attributes)).toBe(false);
  expect(decodeImage(imageToJson({ ...bare, attributes }))).toHaveProperty('invalid');
});

const anyAttributes = fc
  .dictionary(
    fc.constantFrom('user.a', 'user.b\\012', 'security.capability'),
    fc.uint8Array().map((bytes) => Buffer.from(bytes).toString('base64')),
  )
  .map((values) =>
    Object.entries(values)
      .map(([name, value]) => `${name}=${value}`)
      .sort()
      .join('\n'),
  );

test('what differs, done to the one, gives the other', () => {
  fc.assert(
    fc.property(anyAttributes, anyAttributes, (from, to) => {
      expect(isAttributes(from)).toBe(true);
      const { set, removed } = changeOfAttributes(from, to);
      const values = new Map(listAttributes(from).map(({ name, value }) => [name, value]));
      for (const name of removed) expect(values.delete(name)).toBe(true);
      for (const { name, value } of set) values.set(name, value);
      const lines = [...values].map(([name, value]) => `${name}=${value}`);
      expect(lines.sort().join('\n')).toBe(to);
      expect(changedNames(from, to).length).toBe(set.length + removed.length);
    }),
  );
});

test('what is not known equals anything, and comes through the log as not known', () => {
  expect(sameImage(bare, some)).toBe(true);
  expect(sameImage(none, bare)).toBe(true);
  expect(sameImage(none, some)).toBe(false);
  for (const image of [bare, none, some]) {
    expect(decodeImage(JSON.parse(JSON.stringify(imageToJson(image))))).toEqual(image);
  }
});

test('a change of attributes alone that cannot be looked at is left alone and named', () => {
  const path = relPath('a');
  const [change] = squashOf([{ path, before: none, after: some }], {
    kind: 'step',
    turn: 't1',
    step: 1,
  }).values();
  const plan = planRewind({
    squashed: change === undefined ? [] : [change],
    disk: new Map([
      [path, { image: bare, stamp: '1', links: 1, entries: [], parent: { kind: 'directory' } }],
    ]),
    contested: new Map(),
    seenAs: new Map(),
    merged: new Map(),
    inUse: new Map(),
    hindered: new Map(),
    force: false,
    git: false,
  });
  expect(plan.changes).toEqual([]);
  expect(plan.settled).toMatchObject([{ path, outcome: 'skipped' }]);
});

test('a manifest says what is known of attributes; an older one knows nothing', () => {
  const texts = ['', 'user.a=MQ==', NOT_KNOWN];
  const builder = new ManifestBuilder();
  const key = { dev: 1n, ino: 1n, mode: 0o40755n, uid: 0n, gid: 0n, size: 0n };
  const times = { mtimeNs: 0n, ctimeNs: 0n };
  for (const [i, text] of ['', ...texts].entries()) {
    const type = i === 0 ? ENTRY.directory : ENTRY.file;
    const name = i === 0 ? '' : String(i);
    builder.add({ parent: 0, name, type, flags: 0, key: { ...key, ...times }, text });
  }
  builder.setChildren(0, 1, texts.length);
  const meta = { takenAt: 0, files: 3, bytes: 0, packs: [], round: 1, clock: '' };
  const manifest = builder.finish({ ...meta, attributes: true });
  const bytes = Buffer.concat(encodeManifest(manifest));
  const read = decodeManifest(new Uint8Array(bytes).buffer);
  expect([1, 2, 3].map((i) => read.attributes(i))).toEqual(['', 'user.a=MQ==', undefined]);
  expect(read.imageAt(relPath('2'))).toMatchObject({ attributes: 'user.a=MQ==' });
  expect(read.imageAt(relPath('3'))).not.toHaveProperty('attributes');
  // Of the same length, so that the columns stay where they are.
  const field = ',"attributes":true';
  const older = bytes.toString('latin1').replace(field, ' '.repeat(field.length));
  const old = decodeManifest(new Uint8Array(Buffer.from(older, 'latin1')).buffer);
  expect([1, 2, 3].map((i) => old.attributes(i))).toEqual([undefined, undefined, undefined]);
  expect(old.imageAt(relPath('nothing'))).toEqual(ABSENT);
});
