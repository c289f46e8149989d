import module from 'node:module';
import { dirname, parse } from 'node:path';
import type { Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { childProcess } from '../files/on-demand.js';

/**
 * A watcher host that comes up while its starter goes on: half of what it needs until it watches is the
 * start of Node. It learns on its standard input what to watch, and ends where that closes before.
 */
export class HostProcess {
  #input: Writable | 'none';

  constructor() {
    // A session of its own, so that Ctrl-C reaches only the command.
    const child = childProcess().spawn(process.execPath, [HOST], {
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
      windowsHide: true,
      // Nobody's directory is held; it goes to the store once it knows that.
      cwd: parse(process.execPath).root,
      env: { ...process.env, ...keptCode() },
    });
    // A host that cannot be started is like one that died: the timeline says so.
    child.on('error', () => {});
    child.stdin?.on('error', () => {});
    child.unref();
    this.#input = child.stdin ?? 'none';
  }

  /** Says what to watch; false where it was said already, for a host serves one step. */
  assign(store: string, token: string): boolean {
    if (this.#input === 'none') return false;
    this.#input.end(`${JSON.stringify([store, token])}\n`);
    this.#input = 'none';
    return true;
  }
}

/** Starts a host before it is known what it is to watch. */
export function startHostProcess(): HostProcess {
  return new HostProcess();
}

const HOST = fileURLToPath(new URL('./host.js', import.meta.url));

/** Has the host use what Node keeps compiled of us, where it keeps it. */
function keptCode(): NodeJS.ProcessEnv {
  if (!('getCompileCacheDir' in module) || typeof module.getCompileCacheDir !== 'function')
    return {};
  const kept: unknown = module.getCompileCacheDir();
  return typeof kept === 'string' ? { NODE_COMPILE_CACHE: dirname(kept) } : {};
}
