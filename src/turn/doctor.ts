import fs from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ENTRY } from '../core/manifest-columns.js';
import { printable, printableText } from '../core/printable.js';
import { errnoWords, PreimageError } from '../core/problem.js';
import { formatSize } from '../core/units.js';
import { attributeSupport } from '../files/attributes.js';
import { sharedWritableInodes } from '../files/mappings.js';
import { stampTrust } from '../files/stamps.js';
import { type Canary, canary } from './canary.js';
import { type Located, locate, type WhichWorkspace } from './locate.js';
import { checkPermissions } from './store-permissions.js';
import { Workspace } from './workspace.js';

/** One thing that was looked at. */
export type Check = {
  readonly name: string;
  /** `limit`: works, and something is not as good as it could be here. */
  readonly state: 'ok' | 'limit' | 'wrong';
  readonly text: string;
  /** What to do; empty where there is nothing to do. */
  readonly hint: string;
};

/** Looks at everything that preimage depends on, and tries it out in a temporary directory. */
export async function doctor(which: WhichWorkspace): Promise<Check[]> {
  const located = locate(which);
  const tried = await canary();
  return [
    versions(),
    ...canaryChecks(tried),
    storeCheck(located),
    spaceCheck(located),
    linkCheck(located),
    stampCheck(located),
    attributeCheck(),
    mapCheck(),
    ...watchLimits(located),
  ];
}

function ok(name: string, text: string): Check {
  return { name, state: 'ok', text, hint: '' };
}

const OLDEST_NODE = [20, 19] as const;

function versions(): Check {
  const path = join(dirname(fileURLToPath(import.meta.url)), '..', '..', 'package.json');
  const parsed: unknown = JSON.parse(fs.readFileSync(path, 'utf8'));
  const version = typeof parsed === 'object' && parsed !== null && 'version' in parsed;
  const own = version ? String(parsed.version) : 'unknown';
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const text = `preimage ${own}, Node ${process.versions.node}, ${process.platform} ${process.arch}`;
  const [oldestMajor, oldestMinor] = OLDEST_NODE;
  if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) {
    return ok('versions', text);
  }
  const hint = `Use Node ${oldestMajor}.${oldestMinor} or newer.`;
  return { name: 'versions', state: 'wrong', text, hint };
}

function canaryChecks({ rewind, watcher }: Canary): Check[] {
  const tried: Check =
    rewind.kind === 'same'
      ? ok('canary', `${rewind.paths} paths changed, rewound and compared: all as before`)
      : {
          name: 'canary',
          state: 'wrong',
          text: `a change in a temporary directory was not undone: ${rewind.what}`,
          hint: 'Do not rely on preimage here; please report this with all of these lines.',
        };
  const hint = 'The lists of changes are the same; only the timeline is missing or has gaps.';
  const text = watcher.reason === '' ? watcher.name : `${watcher.name}: ${watcher.reason}`;
  const seen: Check =
    watcher.name === 'parcel' && watcher.reason === ''
      ? ok('watcher', 'parcel saw the change')
      : { name: 'watcher', state: 'limit', text, hint };
  return [tried, seen];
}

function storeCheck({ storeDirectory, existing }: Located): Check {
  const shown = printableText(storeDirectory);
  if (existing === 'none') return ok('store', `${shown} will be made by the first turn`);
  const wrong = checkPermissions(existing);
  if (wrong.length === 0) return ok('store', `${shown}: only you can read it`);
  const more = wrong.length > 1 ? ` and ${wrong.length - 1} more` : '';
  return {
    name: 'store',
    state: 'wrong',
    text: `${wrong[0] ?? ''}${more}`,
    hint: `It holds copies of your files: chmod -R go= '${shown}'`,
  };
}

/** Below this a turn may not fit. */
const LITTLE_SPACE = 100 * 1024 * 1024;

function spaceCheck({ storeDirectory }: Located): Check {
  try {
    const { bavail, bsize } = fs.statfsSync(nearest(storeDirectory));
    const free = bavail * bsize;
    const text = `${formatSize(free)} free for the store`;
    if (free >= LITTLE_SPACE) return ok('space', text);
    const hint = 'Make room, or drop old turns: preimage prune --keep 10';
    return { name: 'space', state: 'wrong', text, hint };
  } catch (error) {
    return { name: 'space', state: 'limit', text: `not known: ${errnoWords(error)}`, hint: '' };
  }
}

/** Tries what files over the size limit are kept by. */
function linkCheck(located: Located): Check {
  const directory = nearest(located.storeDirectory);
  const [from, to] = [`.preimage-try-${process.pid}`, `.preimage-try-${process.pid}-2`].map(
    (name) => join(directory, name),
  );
  const works = (act: (a: string, b: string) => void): boolean => {
    try {
      act(from ?? '', to ?? '');
      return true;
    } catch {
      return false;
    } finally {
      fs.rmSync(to ?? '', { force: true });
    }
  };
  try {
    fs.writeFileSync(from ?? '', 'x', { mode: 0o600 });
    const clones = works((a, b) => fs.copyFileSync(a, b, fs.constants.COPYFILE_FICLONE_FORCE));
    const links = works(fs.linkSync);
    if (clones) return ok('large files', 'kept as clones');
    if (links) return ok('large files', 'kept by hard link where the store shares their device');
    const text = 'no clones and no hard links in the store';
    const hint = 'Files over the size limit cannot be kept; raise it with maxFile.';
    return { name: 'large files', state: 'limit', text, hint };
  } catch (error) {
    const text = `cannot write to ${printableText(directory)}: ${errnoWords(error)}`;
    const hint = 'Give a place that can be written with --store DIR or PREIMAGE_STORE.';
    return { name: 'large files', state: 'wrong', text, hint };
  } finally {
    fs.rmSync(from ?? '', { force: true });
  }
}

function stampCheck({ root }: Located): Check {
  const trust = stampTrust(root);
  if (trust.kind === 'trusted') return ok('stamps', `${printable(root)}: trusted`);
  const text = `${trust.fileSystem}: every file is read at every open and close`;
  return { name: 'stamps', state: 'limit', text, hint: 'A local disk is faster.' };
}

function attributeCheck(): Check {
  const support = attributeSupport();
  if (support.kind === 'recorded') return ok('attributes', 'and ACLs are recorded');
  const text = `not recorded: ${support.reason}`;
  const hint =
    process.platform === 'linux'
      ? 'Install the system’s package attr to have attributes and ACLs put back.'
      : '';
  return { name: 'attributes', state: 'limit', text, hint };
}

function mapCheck(): Check {
  if (sharedWritableInodes().complete) return ok('memory maps', 'of all processes can be seen');
  const text = 'of other users’ processes cannot be seen';
  const hint = 'What they change through a map of a file may be seen late.';
  return { name: 'memory maps', state: 'limit', text, hint };
}

/** What inotify must have for the watcher (inotify(7)). */
const LIMITS = [
  { name: 'max_user_watches', least: 8192 },
  { name: 'max_user_instances', least: 128 },
  { name: 'max_queued_events', least: 16_384 },
] as const;

function watchLimits(located: Located): Check[] {
  if (process.platform !== 'linux') return [];
  const directories = countDirectories(located);
  return LIMITS.map(({ name, least }) => {
    const path = `/proc/sys/fs/inotify/${name}`;
    let value: number;
    try {
      value = Number(fs.readFileSync(path, 'utf8'));
    } catch (error) {
      return { name, state: 'limit', text: `not known: ${errnoWords(error)}`, hint: '' };
    }
    const needed = name === 'max_user_watches' ? Math.max(least, directories * 2) : least;
    const about = name === 'max_user_watches' ? ` for ${directories} directories` : '';
    if (value >= needed) return ok(name, `${value}${about}`);
    const hint = `Raise it: sysctl fs.inotify.${name}=${needed} (without, the timeline has gaps)`;
    return { name, state: 'limit', text: `${value}${about}: little`, hint };
  });
}

function countDirectories(located: Located): number {
  if (located.existing === 'none') return 0;
  const workspace = new Workspace(located, located.existing);
  try {
    const baseline = workspace.baseline(workspace.readLog());
    if (baseline === 'none') return 0;
    const { manifest } = baseline;
    let count = 0;
    for (let i = 0; i < manifest.count; i++) if (manifest.type(i) === ENTRY.directory) count += 1;
    return count;
  } catch (error) {
    // A damaged store is for `verify` to tell.
    if (error instanceof PreimageError) return 0;
    throw error;
  } finally {
    workspace.close();
  }
}

/** Finds the nearest directory at or above a path that stands. */
function nearest(path: string): string {
  for (let at = path; ; at = dirname(at)) {
    if (fs.existsSync(at) || dirname(at) === at) return at;
  }
}
