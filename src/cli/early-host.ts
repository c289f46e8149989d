import { type HostProcess, startHostProcess } from '../index.js';

/**
 * Starts a watcher host before our own code is loaded, where the words of the command line say that
 * one will be needed. One that is not needed after all ends by itself.
 */
export function startEarly(argv: readonly string[]): HostProcess | undefined {
  const [, , command, ...rest] = argv;
  if (command !== 'watch' && command !== 'open') return undefined;
  const end = rest.indexOf('--');
  const options = end < 0 ? rest : rest.slice(0, end);
  if (options.includes('--no-watch') || options.includes('--help')) return undefined;
  try {
    return startHostProcess();
  } catch {
    // Whoever needs it tries again, and says what is wrong.
    return undefined;
  }
}
