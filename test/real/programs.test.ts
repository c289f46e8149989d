import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { lab } from '../support/cli.js';
import { command, PROCESS_MAPS, program, testWith } from '../support/machine.js';
import { snapshot, temporary, tree } from '../support/tree.js';
import { differences, thereAndBack } from './round.js';

const PYTHON = command('python3');
const COMPILER = command('gcc');
const FIFO = command('mkfifo');
const REWRITE = fileURLToPath(new URL('./programs/rewrite.mjs', import.meta.url));
const NAMES = ['a.bin', 'b.txt', 'deep/er/c.dat', 'big.bin'];

/** Files of a few bytes, of a page and of many pages. */
function someFiles(root: string): void {
  tree(root, {
    'a.bin': Buffer.from([0, 1, 2, 254, 255]),
    'b.txt': 'some text\n'.repeat(500),
    deep: { er: { 'c.dat': 'x'.repeat(4096) } },
    'big.bin': Buffer.alloc(700_001, 'pattern'),
    untouched: 'stays\n',
  });
}

describe('a Python program that rewrites files of the same size', () => {
  const ways = ['in_place', 'by_rename', 'through_mmap'];
  for (const suffix of ['', '_mtime_put_back']) {
    const words = suffix === '' ? '' : ', with the mtime put back';
    testWith([PYTHON], `in place, by rename and through mmap${words}`, async () => {
      const at = lab();
      for (const way of ways) someFiles(path.join(at.root, way));
      const names = (way: string): string[] => NAMES.map((name) => `${way}/${name}`);
      const script = ways.map((way) => py(way + suffix, names(way))).join('; ');
      const { before, left } = await thereAndBack(at, script);
      const rewritten = ways.flatMap(names);
      expect(rewritten.filter((name) => before[name] === left[name])).toEqual([]);
      expect(left['in_place/untouched']).toBe(before['in_place/untouched']);
    });
  }

  testWith([PYTHON], 'is seen in every one of many turns that follow at once', async () => {
    const at = lab();
    someFiles(at.root);
    const before = snapshot(at.root);
    await at.turn(py('in_place_mtime_put_back', NAMES), '--turn', 'first');
    for (const way of ['through_mmap_mtime_put_back', 'in_place_mtime_put_back', 'by_rename']) {
      await at.turn(py(way, NAMES.slice(0, 3)));
    }
    expect(differences(before, snapshot(at.root))).not.toEqual([]);
    expect((await at.run(['rewind', 'first'])).code).toBe(0);
    expect(differences(before, snapshot(at.root))).toEqual([]);
  });
});

describe('a file that is mapped and dirty from before the turn', () => {
  for (const after of ['keep', 'close'] as const) {
    const words =
      after === 'keep' ? 'and stays so' : 'and is let go before the turn closes, moving no stamp';
    testWith([PYTHON, PROCESS_MAPS, FIFO], words, async () => {
      const at = lab();
      someFiles(at.root);
      const [go, done] = fifos();
      const mapped = path.join(at.root, 'b.txt');
      const holder = spawn('python3', [program('hold_mapped.py'), mapped, go, done, after]);
      onTestFinished(() => {
        holder.kill('SIGKILL');
      });
      const [ready] = await once(holder.stdout, 'data');
      expect(String(ready)).toMatch(/^ready/);
      await thereAndBack(at, `echo go > ${go}; cat ${done}; echo new > made`);
      expect(readFileSync(mapped, 'utf8').slice(0, 5)).toBe('1ome ');
      holder.stdin.end();
      await once(holder, 'close');
    });
  }
});

test('a Node program that rewrites, cuts, swaps and appends', async () => {
  const at = lab();
  const names = Array.from({ length: 14 }, (_, index) => `dir${index % 3}/file ${index}.txt`);
  for (const name of names) tree(at.root, { [name]: `contents of ${name}\n` });
  const quoted = names.map((name) => `'${name}'`).join(' ');
  const { before, left } = await thereAndBack(at, `'${process.execPath}' '${REWRITE}' ${quoted}`);
  expect(names.filter((name) => before[name] === left[name])).toEqual([]);
});

testWith([COMPILER], 'a compiled program that stores through mmap and just ends', async () => {
  const at = lab();
  someFiles(at.root);
  const binary = path.join(temporary(), 'through-mmap');
  const built = spawnSync(COMPILER.name, ['-O1', '-o', binary, program('through_mmap.c')]);
  expect(String(built.stderr)).toBe('');
  const { before, left } = await thereAndBack(at, `'${binary}' ${NAMES.join(' ')}`);
  expect(NAMES.filter((name) => before[name] === left[name])).toEqual([]);
});

testWith([COMPILER], 'a build: objects made, a source generated, a binary replaced', async () => {
  const at = lab();
  tree(at.root, { 'main.c': 'int main(void) { return 0; }\n', 'bin/tool': 'old\n' });
  writeFileSync(
    path.join(at.root, 'build.sh'),
    'gcc -c -o main.o main.c\ngcc -o bin/tool main.o\n',
  );
  const { left } = await thereAndBack(at, 'sh build.sh; bin/tool; echo "// done" >> main.c');
  expect(left['main.o']).toBeDefined();
});

function py(way: string, names: readonly string[]): string {
  return `python3 '${program('rewrite.py')}' ${way} ${names.join(' ')}`;
}

function fifos(): [string, string] {
  const outside = temporary();
  const pair: [string, string] = [path.join(outside, 'go'), path.join(outside, 'done')];
  expect(spawnSync(FIFO.name, pair).status).toBe(0);
  return pair;
}
