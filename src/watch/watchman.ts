import { hash } from 'node:crypto';
import fs from 'node:fs';
import * as v from 'valibot';
import type { ByteString } from '../core/relpath.js';
import type { BserValue } from './bser.js';
import { WatchmanSocket, WatchmanTrouble } from './watchman-socket.js';

/** What watchman was asked: what changed below a root since a mark that it gave earlier. */
export type WatchmanQuestion = {
  /** Absolute real path. */
  readonly root: ByteString;
  /** `''` where there is none: then only a new mark is wanted. */
  readonly since: string;
};

/** Where watchman does not look, or not into all of it. */
type Blind = {
  /** Directories of these names, wherever they are. */
  readonly names: ReadonlySet<ByteString>;
  /** Directories by their paths below the root. */
  readonly paths: ReadonlySet<ByteString>;
};

/** What watchman said. */
export type WatchmanAnswer =
  | {
      readonly kind: 'changes';
      /** Paths below the root, those that are gone included. */
      readonly names: readonly ByteString[];
      readonly blind: Blind;
      readonly mark: string;
    }
  | {
      readonly kind: 'everything';
      /** Why it cannot say what changed, in a sentence without its end. */
      readonly why: string;
      /** It will not be otherwise the next time by itself. */
      readonly trouble: boolean;
      /** What it can be asked from next time; `''` where it gave nothing. */
      readonly mark: string;
    };

/** For the cookie, by which watchman knows that it has read all that happened before the question. */
const SYNC_MS = 2000;
/** From then on looking at every file is quicker than waiting. */
const DEADLINE_MS = 4000;
/** A clock of no watch, so that the answer is a new one and no names. */
const NO_CLOCK = 'c:0:0';

/**
 * Asks watchman what changed. What it cannot say for sure (another instance, another watch, events lost
 * since, other settings) is `everything`; it never throws.
 */
export async function askWatchman(question: WatchmanQuestion): Promise<WatchmanAnswer> {
  let socket: WatchmanSocket | undefined;
  try {
    socket = await WatchmanSocket.connect(Date.now() + DEADLINE_MS);
    return await askThrough(socket, question);
  } catch (error) {
    if (!(error instanceof WatchmanTrouble || error instanceof v.ValiError)) throw error;
    const words = error instanceof v.ValiError ? 'said what it is not known to say' : error.message;
    return { kind: 'everything', why: `watchman ${words}`, trouble: true, mark: '' };
  } finally {
    socket?.end();
  }
}

async function askThrough(
  socket: WatchmanSocket,
  { root, since }: WatchmanQuestion,
): Promise<WatchmanAnswer> {
  const watch = v.parse(WatchSchema, await socket.ask(['watch-project', root]));
  const { config } = v.parse(ConfigAnswerSchema, await socket.ask(['get-config', watch.watch]));
  const settings = [v.parse(SettingsSchema, config), globalSettings()];
  const before = readMark(since);
  const answer = v.parse(
    AnswerSchema,
    await socket.ask(['query', watch.watch, queryOf(watch.relative_path, before.clock)]),
  );
  const state = hash('sha256', JSON.stringify([watch, settings, answer.warning]));
  const mark = writeMark({ clock: answer.clock, state });
  const everything = (why: string, trouble: boolean): WatchmanAnswer => {
    return { kind: 'everything', why, trouble, mark };
  };
  if (settings.some((each) => each.suppress_recrawl_warnings)) {
    return everything(
      'watchman is told not to say that it lost track (suppress_recrawl_warnings)',
      true,
    );
  }
  const blind = blindness(settings, watch.relative_path);
  if (blind === 'all') return everything('watchman does not look into this directory', true);
  if (since === '') return everything('watchman has nothing to compare with yet', false);
  if (answer.is_fresh_instance) return everything('watchman began anew since the last scan', false);
  // It says so in a warning, and goes on saying so: what is new is a warning that was not there.
  if (state !== before.state)
    return everything('watchman lost track since the last scan, or has other settings', false);
  return { kind: 'changes', names: answer.files, blind, mark };
}

function queryOf(relative: ByteString, clock: string): BserValue {
  return {
    since: clock,
    fields: ['name'],
    empty_on_fresh_instance: true,
    sync_timeout: SYNC_MS,
    ...(relative === '' ? {} : { relative_root: relative }),
  };
}

/** Its clock, and by a hash all else that must be as it was for the clock to mean anything. */
type Mark = { readonly clock: string; readonly state: string };

function writeMark({ clock, state }: Mark): string {
  return `${state} ${clock}`;
}

function readMark(mark: string): Mark {
  const [state = '', clock = NO_CLOCK] = mark.split(' ');
  return { clock, state };
}

const WatchSchema = v.object({ watch: v.string(), relative_path: v.optional(v.string(), '') });

const Names = v.optional(v.array(v.string()), []);

const SettingsSchema = v.object({
  ignore_dirs: Names,
  ignore_vcs: Names,
  suppress_recrawl_warnings: v.optional(v.boolean(), false),
});

const ConfigAnswerSchema = v.object({ config: v.record(v.string(), v.unknown()) });

const AnswerSchema = v.object({
  clock: v.pipe(v.string(), v.regex(/^c:[0-9:]+$/)),
  is_fresh_instance: v.boolean(),
  files: v.array(v.string()),
  warning: v.optional(v.string(), ''),
});

type Settings = v.InferOutput<typeof SettingsSchema>;

const GLOBAL_SETTINGS = '/etc/watchman.json';

/** Settings for all watches: they count where a root has none of its own, and are not told by it. */
function globalSettings(): Settings {
  let text: string;
  try {
    text = fs.readFileSync(process.env.WATCHMAN_CONFIG_FILE ?? GLOBAL_SETTINGS, 'utf8');
  } catch {
    return v.parse(SettingsSchema, {});
  }
  const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), SettingsSchema), text);
  if (parsed.success) return parsed.output;
  throw new WatchmanTrouble('has settings that cannot be read');
}

/** Directories of repositories: their own entries are watched, what is deeper is not. */
const REPOSITORIES = ['.git', '.hg', '.svn', '.sl', '.jj'];

function blindness(settings: readonly Settings[], relative: ByteString): Blind | 'all' {
  const names = new Set(REPOSITORIES);
  const paths = new Set<ByteString>();
  const inside = relative === '' ? '' : `${relative}/`;
  for (const path of settings.flatMap((each) => [...each.ignore_dirs, ...each.ignore_vcs])) {
    if (`${relative}/`.startsWith(`${path}/`)) return 'all';
    if (path.startsWith(inside)) paths.add(path.slice(inside.length));
  }
  if (relative.split('/').some((name) => names.has(name))) return 'all';
  return { names, paths };
}
