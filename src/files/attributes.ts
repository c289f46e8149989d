import fs from 'node:fs';
import { delimiter, join } from 'node:path';
import {
  type Attributes,
  changedNames,
  changeOfAttributes,
  NAMES_RECORDED,
  parseDump,
  unescapeBytes,
} from '../core/attributes.js';
import { errnoWords } from '../core/problem.js';
import { type ByteString, isAscii } from '../core/relpath.js';
import { childProcess } from './on-demand.js';

/** Whether extended attributes and ACLs can be read and set here, and why not. */
export type AttributeSupport =
  | { readonly kind: 'recorded' }
  | { readonly kind: 'not-recorded'; readonly reason: string };

/** Attributes to be set at a path: from what stands there to what is to stand there. */
export type AttributeJob = {
  readonly path: ByteString;
  readonly from: Attributes;
  readonly to: Attributes;
};

/** So many paths are given as arguments, if Node can: without `xargs` it takes a millisecond less. */
const FEW = 50;

let support: AttributeSupport | undefined;

/** Says whether attributes are recorded here: looks for the system's programs once. */
export function attributeSupport(): AttributeSupport {
  support ??= findPrograms();
  return support;
}

/**
 * Reads the attributes of what stands at absolute paths, itself where it is a link; undefined where
 * they are not known. Programs are started a few times for all paths together.
 */
export function readAttributes(paths: readonly ByteString[]): (Attributes | undefined)[] {
  if (paths.length === 0 || attributeSupport().kind !== 'recorded')
    return paths.map(() => undefined);
  const few = paths.length <= FEW && paths.every(isAscii);
  const { output, troubles } = few ? start([...GETFATTR, ...paths]) : runOn(GETFATTR, paths);
  const dump = parseDump(output);
  if (dump.size === 0 && troubles === 'none') return paths.map(() => '');
  const failed = troubles === 'none' ? new Map<ByteString, string>() : reasonsOf(troubles, paths);
  return paths.map((path) => {
    if (failed === 'unknown' || failed.has(path)) return undefined;
    return dump.has(path) ? dump.get(path) : '';
  });
}

/** What could not be set of a path's attributes, in words; `''` where all was. */
export type AttributeTrouble = {
  readonly words: string;
  /** The system would refuse it again; else another try may do it. */
  readonly refused: boolean;
};

/** Sets and removes what differs; says for each job what could not be done. */
export function changeAttributes(jobs: readonly AttributeJob[]): AttributeTrouble[] {
  const calls = new Map<string, { readonly options: ByteString[]; readonly paths: ByteString[] }>();
  const add = (path: ByteString, ...options: ByteString[]): void => {
    const key = options.join('\n');
    const call = calls.get(key) ?? { options, paths: [] };
    call.paths.push(path);
    calls.set(key, call);
  };
  for (const { path, from, to } of jobs) {
    const { set, removed } = changeOfAttributes(from, to);
    // It takes names with octal digits in them, as they stand here.
    for (const name of removed) add(path, '-x', name);
    // `-v 0s` would set nothing at all, and say that all is well.
    for (const { name, value } of set) {
      add(path, '-n', name, ...(value === '' ? [] : ['-v', `0s${value}`]));
    }
  }
  if (calls.size === 0) return jobs.map(() => NO_TROUBLE);
  const here = attributeSupport();
  if (here.kind !== 'recorded') return jobs.map((job) => troubleOf(job, here.reason, true));
  return notesOf(jobs, runSetfattr([...calls.values()]));
}

// `-h`: a link itself. Values as base64, for they are bytes; without `--absolute-names` it warns.
const GETFATTR = [
  'getfattr',
  '-h',
  '-d',
  '-m',
  NAMES_RECORDED,
  '-e',
  'base64',
  '--absolute-names',
  '--',
];

function findPrograms(): AttributeSupport {
  if (process.platform !== 'linux') {
    return { kind: 'not-recorded', reason: 'only Linux has programs for them' };
  }
  const missing = ['getfattr', 'setfattr', 'xargs'].filter((name) => !isOnPath(name));
  if (missing.length === 0) return { kind: 'recorded' };
  const verb = missing.length === 1 ? 'is' : 'are';
  return { kind: 'not-recorded', reason: `${missing.join('/')} ${verb} missing` };
}

function isOnPath(name: string): boolean {
  return (process.env.PATH ?? '').split(delimiter).some((directory) => {
    if (directory === '') return false;
    try {
      fs.accessSync(join(directory, name), fs.constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

type Ran = { readonly output: ByteString; readonly troubles: ByteString | 'none' };

/**
 * Runs a program through `xargs`, which reads the last arguments from its input: so they may be any
 * bytes, and as many as they like. The words of the system are the C locale's.
 */
function runOn(program: readonly string[], inputs: readonly ByteString[], ...how: string[]): Ran {
  return start(['xargs', '-0', ...how, ...program], inputs);
}

function start([name = '', ...args]: readonly string[], inputs: readonly ByteString[] = []): Ran {
  const run = () =>
    childProcess().spawnSync(name, args, {
      input: Buffer.from(inputs.map((each) => `${each}\0`).join(''), 'latin1'),
      env: { ...process.env, LC_ALL: 'C' },
      maxBuffer: MOST_OUTPUT,
    });
  let ran = run();
  // It could not even be started: no memory, no process left. That may be over in a moment.
  if (ran.error !== undefined) ran = run();
  const { status, stdout, stderr, error } = ran;
  if (error !== undefined || stdout === null)
    return { output: '', troubles: errnoWords(error) || 'it ended' };
  const troubles = status === 0 ? 'none' : stderr.toString('latin1') || `exit ${status}`;
  return { output: stdout.toString('latin1'), troubles };
}

/** Bytes that a run may print: an attribute may have 64 KiB. */
const MOST_OUTPUT = 1024 * 1024 * 1024;

/**
 * Reads what the programs say about paths: `getfattr: PATH: words`, bytes of the path as in a dump;
 * `unknown` where something is said that belongs to none of them.
 */
function reasonsOf(
  troubles: ByteString,
  paths: readonly ByteString[],
): Map<ByteString, string> | 'unknown' {
  const known = new Set(paths);
  const reasons = new Map<ByteString, string>();
  for (const line of troubles.split('\n')) {
    if (line === '') continue;
    const about = line.replace(/^[gs]etfattr: /, '');
    const ends = [...about.matchAll(/: /g)].map(({ index }) => index);
    const end = ends.find((at) => known.has(unescapeBytes(about.slice(0, at))));
    if (end === undefined) return 'unknown';
    const words = about.slice(about.lastIndexOf(': ') + 2);
    reasons.set(unescapeBytes(about.slice(0, end)), words.charAt(0).toLowerCase() + words.slice(1));
  }
  // It failed and says nothing: at what, nobody knows.
  return reasons.size === 0 ? 'unknown' : reasons;
}

/** So many paths go into one call where they get the same attribute; else one. */
const TOGETHER = 64;

/**
 * Runs `setfattr` for all calls: those with many paths in one go and those with one in another, for
 * `xargs` gives each the same number of arguments. (`setfattr --restore` sets all in one, but
 * removes nothing, and its newer versions warn of links on the way, as paths below `/proc` have.)
 */
function runSetfattr(
  calls: readonly { readonly options: ByteString[]; readonly paths: ByteString[] }[],
): ByteString {
  const runs = new Map<number, ByteString[]>();
  for (const { options, paths } of calls) {
    for (let at = 0; at < paths.length; ) {
      const count = paths.length - at >= TOGETHER ? TOGETHER : 1;
      const args = ['-h', ...options, '--', ...paths.slice(at, at + count)];
      const run = runs.get(args.length) ?? [];
      run.push(...args);
      runs.set(args.length, run);
      at += count;
    }
  }
  return [...runs]
    .map(([count, args]) => runOn(['setfattr'], args, '-x', '-n', String(count)).troubles)
    .filter((troubles) => troubles !== 'none')
    .join('\n');
}

/** Says what could not be set: by what stands there now where something went wrong. */
function notesOf(jobs: readonly AttributeJob[], troubles: ByteString): AttributeTrouble[] {
  if (troubles === '') return jobs.map(() => NO_TROUBLE);
  const paths = jobs.map(({ path }) => path);
  const reasons = reasonsOf(troubles, paths);
  const now = readAttributes(paths);
  return jobs.map((job, i) => {
    const reason = reasons === 'unknown' ? troubles.trim() : reasons.get(job.path);
    if (reason === undefined) return NO_TROUBLE;
    return troubleOf({ ...job, from: now[i] ?? job.from }, reason, REFUSED.test(reason));
  });
}

const NO_TROUBLE: AttributeTrouble = { words: '', refused: false };

/** EPERM, EACCES and ENOTSUP as the C locale says them. */
const REFUSED = /not permitted|permission denied|not supported/i;

function troubleOf({ from, to }: AttributeJob, reason: string, refused: boolean): AttributeTrouble {
  const names = changedNames(from, to);
  if (names.length === 0) return NO_TROUBLE;
  const words = `its attributes ${names.join(', ')} could not be restored: ${reason}`;
  return { words, refused };
}
