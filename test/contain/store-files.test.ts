import fs from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openStore, openTurn, PreimageError } from '../../src/index.js';
import { CLI, lab, runProcess } from '../support/cli.js';
import { file, snapshot, temporary, tree } from '../support/tree.js';

test.each(['000', '077'])(
  'under umask %s the store is its owner’s alone, and what is put back has its own bits',
  async (umask) => {
    const it = lab();
    tree(it.root, { 'a.txt': file('old', 0o644), 'run.sh': file('old', 0o755), dir: { b: 'old' } });
    fs.chmodSync(join(it.root, 'dir'), 0o775);
    const before = snapshot(it.root);
    const run = (...args: string[]) => {
      const script = `umask ${umask}; exec "$@"`;
      const words = ['-c', script, 'sh', process.execPath, CLI, ...args];
      return runProcess('sh', words, { cwd: it.root, env: it.env });
    };
    expect((await run('watch', '--', 'sh', '-c', 'rm -r a.txt dir; echo > run.sh')).code).toBe(0);
    expect((await run('open', '--turn', 'x')).code).toBe(0);
    fs.writeFileSync(join(it.root, 'made'), 'new');
    const whileOpen = modesBelow(it.home);
    expect((await run('close', '--turn', 'x')).code).toBe(0);
    expect((await run('rewind', 't1')).code).toBe(0);
    expect(snapshot(it.root)).toEqual(before);
    const open = { ...whileOpen, ...modesBelow(it.home) };
    expect(Object.entries(open).filter(([, mode]) => !/^(d700|f600)$/.test(mode))).toEqual([]);
    expect(Object.keys(open).length).toBeGreaterThan(10);
  },
);

/** What an agent might put in the place of the store's own files and directories. */
const REPLACED = ['log', 'packs', 'manifests', 'details', 'control', 'locks'];

test.each(REPLACED)('a store whose %s was replaced by a link is not followed', async (name) => {
  for (const isThere of [true, false]) {
    const base = temporary();
    const which = { root: tree(join(base, 'ws'), { 'a.txt': 'old' }), store: join(base, 'store') };
    const first = await openTurn(which);
    first.write('a.txt', 'new');
    await first.close();
    const outside = tree(join(base, 'outside'), {});
    const [own, target] = [join(which.store, name), join(outside, name)];
    // A copy of what it was, so that nothing else is wrong with it; or nothing at all.
    if (isThere) fs.cpSync(own, target, { recursive: true });
    fs.rmSync(own, { recursive: true });
    fs.symlinkSync(target, own);
    const before = snapshot(base);
    const runs = [
      async () => (await openTurn(which)).close(),
      async () => openStore(which).rewind(),
      async () => openStore(which).list(),
    ];
    for (const run of runs) {
      await expect(run()).rejects.toThrow(PreimageError);
      await expect(run()).rejects.toMatchObject({ code: 'damaged' });
      expect(snapshot(base)).toEqual(before);
    }
  }
});

/** Modes of all that is below a directory, itself included. */
function modesBelow(at: string, into: Record<string, string> = {}): Record<string, string> {
  const stat = fs.lstatSync(at);
  const type = stat.isDirectory() ? 'd' : stat.isFile() ? 'f' : '?';
  into[at] = type + (stat.mode & 0o777).toString(8);
  if (stat.isDirectory()) for (const name of fs.readdirSync(at)) modesBelow(join(at, name), into);
  return into;
}
