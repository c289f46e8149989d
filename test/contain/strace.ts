import fs from 'node:fs';
import { join } from 'node:path';

/** One call of the system that changes something at a path, or opens it to change it. */
type Change = {
  /** The process, a thread's own process included. */
  readonly pid: number;
  readonly call: string;
  /** Absolute; a path through a descriptor is told by what the descriptor was opened as. */
  readonly path: string;
};

/** What {@link readTrace} gives. */
export type Trace = {
  readonly changes: readonly Change[];
  /** Processes that run this program with these words, and all that they have started. */
  readonly processesOf: (words: string) => ReadonlySet<number>;
};

/** How strace must be called for {@link readTrace}; the program follows. */
export const STRACE = ['strace', '-f', '-y', '-s', '4096', '-e', 'trace=file,process', '-o'];

/** Reads what `strace` with {@link STRACE} wrote. */
export function readTrace(file: string): Trace {
  const processOf = new Map<number, number>();
  const parentOf = new Map<number, number>();
  const programs = new Map<number, string>();
  const descriptors = new Map<string, string>();
  const changes: Change[] = [];
  for (const { thread, call, args, result } of callsIn(fs.readFileSync(file, 'latin1'))) {
    const pid = processOf.get(thread) ?? thread;
    if (/^(clone3?|v?fork)$/.test(call)) {
      const child = Number(/^\d+/.exec(result)?.[0]);
      if (args.includes('CLONE_THREAD')) processOf.set(child, pid);
      else parentOf.set(child, pid);
      continue;
    }
    if (call === 'execve') programs.set(pid, args);
    const opened = /^(\d+)<(.*?)>(\(deleted\))?$/.exec(result);
    if (opened !== null) descriptors.set(`${pid} ${opened[1]}`, opened[2] ?? '');
    if (result.startsWith('-1') || !isChange(call, args)) continue;
    const through = (fd: string): string => descriptors.get(`${pid} ${fd}`) ?? `descriptor ${fd}`;
    for (const path of pathsIn(call, args)) {
      const reached = path.replace(/^\/proc\/self\/fd\/(\d+)/, (_, fd: string) => through(fd));
      changes.push({ pid, call, path: reached.replace(/\/+$/, '') });
    }
  }
  return {
    changes,
    processesOf: (words) => {
      const found = new Set<number>();
      for (const [pid, args] of programs) if (args.includes(words)) found.add(pid);
      for (const [child, parent] of parentOf) if (found.has(parent)) found.add(child);
      return found;
    },
  };
}

type Call = {
  readonly thread: number;
  readonly call: string;
  readonly args: string;
  readonly result: string;
};

/** Puts together calls that strace tells in two halves. */
function* callsIn(text: string): Generator<Call> {
  const halves = new Map<string, string>();
  for (const line of text.split('\n')) {
    const [, thread = '', rest = ''] = /^(\d+) +(.*)$/.exec(line) ?? [];
    if (rest.endsWith('<unfinished ...>')) {
      halves.set(thread, rest.slice(0, -'<unfinished ...>'.length));
      continue;
    }
    const resumed = /^<\.\.\. \w+ resumed>(.*)$/.exec(rest);
    const whole = resumed === null ? rest : (halves.get(thread) ?? '') + resumed[1];
    const parts = /^(\w+)\((.*)\) += (.*)$/.exec(whole);
    if (parts === null) continue;
    const [, call = '', args = '', result = ''] = parts;
    yield { thread: Number(thread), call, args, result };
  }
}

const CHANGES =
  /^(creat|rename|renameat2?|unlink|unlinkat|rmdir|mkdir|mkdirat|mknod|mknodat|link|linkat|symlink|symlinkat|chmod|fchmodat2?|chown|lchown|fchownat|truncate|utimes?|utimensat|futimesat|l?setxattr|l?removexattr)$/;

function isChange(call: string, args: string): boolean {
  if (/^open(at2?)?$/.test(call)) {
    // An unnamed file has no place: it leaves no name and no time behind.
    return /O_WRONLY|O_RDWR|O_CREAT|O_TRUNC/.test(args) && !args.includes('O_TMPFILE');
  }
  return CHANGES.test(call);
}

function pathsIn(call: string, args: string): string[] {
  const found = [...args.matchAll(/(?:(?:AT_FDCWD|\d+)<([^>]*)>, )?"((?:[^"\\]|\\.)*)"/g)].map(
    ([, directory = '', path = '']) => (path.startsWith('/') ? path : join(directory, path)),
  );
  // The first text of these is what the link says, or a name of an attribute follows the path.
  if (call.startsWith('symlink')) return found.slice(-1);
  return call.endsWith('xattr') ? found.slice(0, 1) : found;
}
