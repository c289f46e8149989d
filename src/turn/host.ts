import fs from 'node:fs';
import { isErrno } from '../core/problem.js';
import { fromText, isRelPath, toText } from '../core/relpath.js';
import { compileRules } from '../core/rules.js';
import { isAlive, ownIdentity } from '../files/process-identity.js';
import { openStoreAt } from '../store/layout.js';
import { SpoolWriter } from '../store/spool.js';
import { loadWatcher, startWatcher } from '../watch/choose.js';
import { MAX_EVENTS } from '../watch/timeline.js';
import type { WatchEvent } from '../watch/watcher.js';
import { controlOf, type HostLine } from './control.js';
import { EarlyHasher } from './early-hasher.js';
import { type Assignment, decodeAssignment, decodeHostTask, type HostTask } from './host-task.js';

/*
 * The watcher host: a process of its own for each step, started by `host-process.ts`. It writes what
 * it sees into the step's control directory and hashes files that changed while the command still
 * runs. Nothing depends on it: if it dies, hangs or lies, the scan at close finds the same changes.
 */

/** How often the host looks whether it is still needed. */
const NEEDED_MS = 500;
/** A step that nobody closed in a day is recovered by the next command; its host ends itself. */
const LONGEST_LIFE_MS = 24 * 60 * 60 * 1000;

async function serve(store: string, token: string): Promise<void> {
  const layout = openStoreAt(store);
  if (layout === 'none') return;
  const control = controlOf(layout, token);
  const task = decodeHostTask(fs.readFileSync(control.task, 'utf8'));
  if (task === 'invalid') return;
  const spool = new SpoolWriter(control.events);
  const say = (...lines: HostLine[]): void => {
    spool.append(lines);
  };
  say({ t: 'host', identity: ownIdentity() });
  const root = toText(layout.root).text;
  const coverage = compileRules(task.rules);
  const isExcluded = (path: string): boolean => {
    const bytes = fromText(path);
    if (path === '' || !isRelPath(bytes)) return false;
    return path.split('/').some((_, i, parts) => {
      const upTo = fromText(parts.slice(0, i + 1).join('/'));
      return isRelPath(upTo) && coverage.judgeDirectory(upTo, '').kind === 'left-out';
    });
  };
  const hasher = new EarlyHasher({ layout, control, coverage });
  let told = 0;
  const onEvents = (events: readonly WatchEvent[]): void => {
    const room = Math.max(0, MAX_EVENTS + 1 - told);
    told += events.length;
    say(...events.slice(0, room).map(({ kind, path, at }) => eventLine(kind, path, at)));
    hasher.note(events.filter(({ kind }) => kind !== 'delete').map(({ path }) => path));
  };
  watchOverLife(task, control.directory);
  const started = await startWatcher(
    {
      root,
      cookieDir: fs.realpathSync(control.cookies),
      ignoreDirs: task.ignore,
      isExcluded,
      onCookie: (name) => {
        say({ t: 'cookie', name });
      },
    },
    {
      onEvents,
      onTrouble: (reason) => {
        say({ t: 'trouble', reason });
      },
    },
    {
      entries: task.entries,
      stampsTrusted: task.stampsTrusted,
      ...(task.prefer === null ? {} : { prefer: task.prefer }),
    },
  );
  if (started.kind === 'watching') {
    say({ t: 'ready', watcher: started.watcher.backend });
  } else {
    say({ t: 'scan-only', reason: started.reason });
    process.exit(0);
  }
}

function eventLine(event: WatchEvent['kind'], path: string, at: number): HostLine {
  return { t: 'event', at, event, path };
}

/** Ends the process once nobody can need it: closed, recovered, orphaned, or a day old. */
function watchOverLife({ owner }: HostTask, directory: string): void {
  const started = Date.now();
  setInterval(() => {
    const orphaned = owner !== null && !isAlive(owner);
    const expired = Date.now() - started > LONGEST_LIFE_MS;
    if (orphaned || expired || !fs.existsSync(directory)) process.exit(0);
  }, NEEDED_MS);
}

/** How often what is not there yet is asked for, where the system will not wait. */
const ASK_MS = 2;

/**
 * Waits for what to watch, one line on the standard input; `none` where that ends before, as its
 * writer has. Nothing else is to be done meanwhile.
 */
function waitForAssignment(): Assignment | 'none' {
  const pieces: Buffer[] = [];
  const buffer = Buffer.alloc(64 * 1024);
  for (;;) {
    let length: number;
    try {
      length = fs.readSync(0, buffer);
    } catch (error) {
      if (!isErrno(error, 'EAGAIN')) return 'none';
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ASK_MS);
      continue;
    }
    if (length === 0) return 'none';
    pieces.push(Buffer.from(buffer.subarray(0, length)));
    if (buffer.subarray(0, length).includes('\n')) break;
  }
  return decodeAssignment(Buffer.concat(pieces).toString());
}

// Its own part of the start is done by the time that somebody says what to watch.
await loadWatcher();
const assignment = waitForAssignment();
if (assignment === 'none') process.exit(0);
process.chdir(assignment.store);
serve(assignment.store, assignment.token).catch(() => {
  // The store or the root is gone, or the disk is full: whoever closes the step sees no cookie.
  process.exit(1);
});
