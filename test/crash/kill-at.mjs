/*
 * Loaded before the command line (`node --import kill-at.mjs dist/cli/main.js …`): numbers every call
 * that changes a file system or starts a process, and does one thing to call number N.
 *
 * PREIMAGE_CRASH=MODE:N[:ERRNO]
 *   before, after   ends the process with SIGKILL right before or right after the call
 *   half            as `after`, but a write has written only half of its bytes
 *   fail            the call is not made and throws ERRNO
 *   fail-from       this call and every later one throw ERRNO, where a system may say that
 *   count           nothing
 * PREIMAGE_CRASH_CALLS=FILE takes, at the process's end, a line of JSON for each call: `name`, `path`
 * (and `to`), as absolute paths without descriptors; `reads` where it changes nothing.
 * PREIMAGE_CRASH_MATCH=PATTERN numbers only the calls whose name and path, with a space, fit it.
 * PREIMAGE_CRASH_READS=1 numbers the calls that open and list for reading as well.
 */
import childProcess from 'node:child_process';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { mayEndWith } from './errnos.mjs';

const [mode = 'count', at = '0', errno = 'EIO'] = (process.env.PREIMAGE_CRASH ?? '').split(':');
const target = Number(at);
const record = process.env.PREIMAGE_CRASH_CALLS ?? '';
const pattern = new RegExp(process.env.PREIMAGE_CRASH_MATCH ?? '');
const reads = process.env.PREIMAGE_CRASH_READS === '1';
for (const name of Object.keys(process.env)) {
  // What the command starts is not the one that is watched.
  if (name.startsWith('PREIMAGE_CRASH')) delete process.env[name];
}

const original = { ...fs };
const calls = [];
const paths = new Map();
let count = 0;
/** Calls that Node makes inside of a call are a part of it. */
let depth = 0;

/** Which argument names what a call is about: a path, or a descriptor. */
const CALLS = {
  openSync: 0,
  writeSync: 0,
  writevSync: 0,
  writeFileSync: 0,
  appendFileSync: 0,
  copyFileSync: 1,
  renameSync: 0,
  linkSync: 1,
  symlinkSync: 1,
  unlinkSync: 0,
  rmSync: 0,
  rmdirSync: 0,
  mkdirSync: 0,
  chmodSync: 0,
  fchmodSync: 0,
  chownSync: 0,
  fchownSync: 0,
  lchownSync: 0,
  utimesSync: 0,
  futimesSync: 0,
  lutimesSync: 0,
  truncateSync: 0,
  ftruncateSync: 0,
  fsyncSync: 0,
  fdatasyncSync: 0,
  readdirSync: 0,
};

for (const [name, subject] of Object.entries(CALLS)) {
  const real = original[name];
  fs[name] = (...args) => {
    if (depth > 0 || !isNumbered(name, args)) return run(real, args, name);
    const call = { name, path: shown(args[subject]) };
    if (name === 'renameSync') call.to = shown(args[1]);
    if (isRead(name, args)) call.reads = true;
    return numbered(
      call,
      () => run(real, args, name),
      () => half(name, real, args),
    );
  };
}
const closeSync = original.closeSync;
fs.closeSync = (fd) => {
  if (depth === 0) paths.delete(fd);
  return closeSync(fd);
};
for (const name of ['spawn', 'spawnSync']) {
  const real = childProcess[name];
  childProcess[name] = (program, args, ...rest) => {
    const call = { name, path: [program, ...(args ?? [])].join(' ') };
    const start = () => {
      depth += 1;
      try {
        return real(program, args, ...rest);
      } finally {
        depth -= 1;
      }
    };
    return numbered(call, start, start);
  };
}
syncBuiltinESMExports();

process.on('exit', () => {
  if (record === '') return;
  original.writeFileSync(record, calls.map((call) => `${JSON.stringify(call)}\n`).join(''));
});

function numbered(call, make, makeHalf) {
  if (!pattern.test(`${call.name} ${call.path}`)) return make();
  count += 1;
  calls.push(call);
  const fails = mode === 'fail' ? count === target : mode === 'fail-from' && count >= target;
  if (fails && mayEndWith(call, errno)) return fail(call);
  if (count !== target) return make();
  if (mode === 'before') die();
  const result = mode === 'half' ? makeHalf() : make();
  if (mode === 'after' || mode === 'half') die();
  return result;
}

function run(real, args, name) {
  depth += 1;
  try {
    const result = real.apply(fs, args);
    if (name === 'openSync' && depth === 1) paths.set(result, shown(args[0]));
    return result;
  } finally {
    depth -= 1;
  }
}

/** Makes a call that writes with half of its bytes, and any other whole. */
function half(name, real, args) {
  if (name === 'writeSync' && typeof args[1] !== 'string') {
    const [fd, bytes, offset = 0, length = bytes.length - offset, position = null] = args;
    return run(real, [fd, bytes, offset, Math.floor(length / 2), position], name);
  }
  if (name === 'writeFileSync' || name === 'appendFileSync') {
    const [path, data, ...rest] = args;
    const bytes = typeof data === 'string' ? Buffer.from(data) : data;
    return run(real, [path, bytes.subarray(0, Math.floor(bytes.length / 2)), ...rest], name);
  }
  return run(real, args, name);
}

function isNumbered(name, [path, flags = 'r']) {
  // What is said to the user is no file: a terminal or a pipe would not be counted either.
  if (path === 1 || path === 2) return false;
  if (!isRead(name, [path, flags])) return true;
  return reads && !/\.(m?js|json)$/.test(String(path));
}

function isRead(name, [, flags = 'r']) {
  if (name === 'readdirSync') return true;
  if (name !== 'openSync') return false;
  const { O_WRONLY, O_RDWR, O_CREAT, O_TRUNC } = fs.constants;
  if (typeof flags === 'number') return (flags & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC)) === 0;
  return !/[wa+]/.test(flags);
}

/** Ends a call with the error, in the way in which that call tells it. */
function fail(call) {
  const { name, path } = call;
  const syscall = name.replace(/^f?(data)?(.*)Sync$/, '$2');
  const error = new Error(`${errno}: injected, ${syscall} '${path}'`);
  Object.assign(error, { code: errno, errno: -1, syscall, path });
  if (name === 'spawnSync') return { status: null, signal: null, error };
  throw error;
}

function die() {
  process.kill(process.pid, 'SIGKILL');
  for (;;);
}

/** Gives the path that an argument stands for, without `/proc/self/fd/N`. */
function shown(argument) {
  if (typeof argument === 'number') return paths.get(argument) ?? `descriptor ${argument}`;
  const text = Buffer.isBuffer(argument) ? argument.toString('latin1') : String(argument);
  const match = /^\/proc\/(?:self|\d+)\/fd\/(\d+)\/?(.*)$/.exec(text);
  if (match === null) return text;
  const directory = paths.get(Number(match[1])) ?? `descriptor ${match[1]}`;
  return match[2] === '' ? directory : `${directory}/${match[2]}`;
}
