// One of many processes in a workspace: opens and closes steps, each in a turn of its own, and says
// what it did as JSON lines: `worker.mjs LIBRARY ROOT STORE NAME STEPS [rewinds]`.
import fs from 'node:fs';
import { join } from 'node:path';

const [library, root, store, name, steps, rewinds] = process.argv.slice(2);
const { openStore, openTurn } = await import(library);
const file = `${name}/file`;
for (let i = 0; i < Number(steps); i++) {
  const turn = `${name}-${i}`;
  const opened = await open(turn);
  const before = fs.existsSync(join(root, file)) ? fs.readFileSync(join(root, file), 'utf8') : null;
  const after = `${name} ${i}`;
  fs.writeFileSync(join(root, file), after);
  fs.appendFileSync(join(root, 'shared'), `${turn}\n`);
  const { changes } = await opened.close();
  say({ did: 'step', turn, before, after, paths: changes.map(({ path }) => path) });
  if (rewinds !== 'rewinds') continue;
  await rewindOwn(turn, before, after);
  prune(turn);
}

/** A rewind of this process's own file: nobody else touches it. */
async function rewindOwn(turn, before, after) {
  const history = openStore({ root, store, cwd: root });
  try {
    const { outcomes } = await history.rewind({ turn, paths: [file] });
    const [{ outcome }] = outcomes;
    // What was open at the same time has seen the same change: then it is a conflict.
    const wanted = outcome === 'conflict' ? after : before;
    say({ did: outcome === 'conflict' ? 'conflict' : 'rewind', turn, wanted, now: readOr(null) });
    if (outcome === 'conflict') return;
    await history.redo();
    say({ did: 'redo', turn, wanted: after, now: readOr(null) });
  } catch (error) {
    if (error.code !== 'busy') throw error;
    say({ did: 'busy', turn });
  } finally {
    history.close();
  }
}

/** Drops what nothing needs; every turn stays. */
function prune(turn) {
  const history = openStore({ root, store, cwd: root });
  try {
    history.prune({ keep: 100_000 });
    say({ did: 'prune', turn });
  } catch (error) {
    if (error.code !== 'busy') throw error;
    say({ did: 'busy', turn });
  } finally {
    history.close();
  }
}

/** A rewind may be running: then an open says so, and is tried again. */
async function open(turn) {
  for (;;) {
    try {
      return await openTurn({ root, store, turn });
    } catch (error) {
      if (error.code !== 'busy') throw error;
      say({ did: 'busy', turn });
    }
  }
}

function readOr(none) {
  const path = join(root, file);
  return fs.existsSync(path) ? fs.readFileSync(path, 'utf8') : none;
}

function say(line) {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}
