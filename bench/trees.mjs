// @ts-check
import fs from 'node:fs';
import { dirname, join } from 'node:path';

/**
 * A kind of tree that is made anew, alike in every byte, as often as it is wanted.
 * `even`: each part of it has files of the same sizes, so that parts can be held against each other.
 * @typedef {{ name: string, files: number, bytes: number, even: boolean, make: (root: string) => void }} Tree
 */

/** The tree of the article: 4,686 files, 121.4 MB. */
export const ARTICLE = { files: 4_686, bytes: 121_400_000 };
/** A tenth of it, for a quick look. */
export const SMALL = { files: 469, bytes: 12_140_000 };

/**
 * Plans a tree of sources: sizes log-normal with a median of about 6 kB, from some bytes to some MB,
 * spread so that every part of the tree holds about as many bytes; one file in 25 does not compress.
 * @param {{ files: number, bytes: number }} wanted
 * @returns {Tree}
 */
export function generatedTree({ files, bytes }) {
  const sizes = planSizes(files, bytes);
  /** @type {ReturnType<typeof makePools> | undefined} */
  let pools;
  return {
    name: 'generated',
    files,
    bytes: sizes.reduce((sum, size) => sum + size, 0),
    even: true,
    make: (root) => {
      pools ??= makePools();
      const { text, noise } = pools;
      sizes.forEach((size, i) => {
        const path = join(root, pathOf(i));
        if (i % PER_DIRECTORY === 0) fs.mkdirSync(dirname(path), { recursive: true });
        fs.writeFileSync(path, contentOf(i, size, i % NOISE_EVERY === NOISE_AT ? noise : text));
      });
    },
  };
}

/**
 * Lists the regular files of a tree in the order of their paths.
 * @param {string} root
 * @returns {{ path: string, size: number }[]}
 */
export function listFiles(root) {
  return fs
    .readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
    .map((path) => ({ path: path.slice(root.length + 1), size: fs.lstatSync(path).size }));
}

const PER_DIRECTORY = 12;
const EXTENSIONS = ['ts', 'ts', 'tsx', 'js', 'md', 'json', 'css', 'py', 'ts', 'html', 'ts'];
/** One file in so many does not compress. */
const NOISE_EVERY = 25;
const NOISE_AT = 7;
const SMALLEST = 64;
/** Of the logarithm of the sizes. */
const SIGMA = 1.7;
const POOL_BYTES = 8 * 1024 * 1024;
const SEED = 0x9e3779b9;

/** @param {number} files @param {number} bytes */
function planSizes(files, bytes) {
  // Multiples of the golden ratio, modulo one, are spread evenly over any stretch of them.
  const golden = (Math.sqrt(5) - 1) / 2;
  const shares = Array.from({ length: files }, (_, i) =>
    Math.exp(SIGMA * normalQuantile((((i + 0.5) * golden) % 1) * (1 - 1 / files) + 0.5 / files)),
  );
  const total = shares.reduce((sum, share) => sum + share, 0);
  return shares.map((share) => Math.max(SMALLEST, Math.round((share / total) * bytes)));
}

/**
 * Tukey's lambda, within 0.1 of the normal distribution up to three deviations and a half.
 * @param {number} p
 */
function normalQuantile(p) {
  return (p ** 0.135 - (1 - p) ** 0.135) / 0.1975;
}

/** @param {number} i */
function pathOf(i) {
  const directory = Math.floor(i / PER_DIRECTORY);
  const area = ['src', 'lib', 'test', 'docs'][directory % 4];
  const extension = i % NOISE_EVERY === NOISE_AT ? 'png' : EXTENSIONS[i % EXTENSIONS.length];
  const name = `${word(i * 7 + 3)}-${i}.${extension}`;
  return `${area}/${word(directory % 37)}/${word(directory * 3)}-${directory}/${name}`;
}

/** @param {number} i @param {number} size @param {Buffer} pool */
function contentOf(i, size, pool) {
  const content = Buffer.alloc(size);
  const start = (i * 7_919_737) % (POOL_BYTES - 1);
  for (let done = 0; done < size; ) {
    done += pool.copy(content, done, done === 0 ? start : 0);
  }
  content.write(`// file ${i}\n`);
  return content;
}

function makePools() {
  const random = xorshift(SEED);
  const noise = Buffer.alloc(POOL_BYTES);
  for (let i = 0; i < POOL_BYTES; i += 4) noise.writeUInt32LE(random(), i);
  const text = Buffer.alloc(POOL_BYTES, ' ');
  for (let at = 0; at < POOL_BYTES - 40; ) {
    const line = random() % 9 === 0;
    // Small numbers come often, as a few words do in any source.
    const name = word(random() % (1 + (random() % 4_000)));
    at += text.write(line ? `${name};\n${'  '.repeat(random() % 4)}` : `${name} `, at);
  }
  return { text, noise };
}

/** @param {number} number */
function word(number) {
  const syllables = ['ba', 'con', 'de', 'fi', 'gra', 'ho', 'in', 'lu', 'mo', 'ner', 'port', 'se'];
  let text = '';
  for (let left = number; text === '' || left > 0; left = Math.floor(left / syllables.length)) {
    text += syllables[left % syllables.length];
  }
  return text;
}

/** @param {number} seed */
function xorshift(seed) {
  let state = seed;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state;
  };
}
