import { errnoOf, errnoWords, isErrno, PreimageError } from '../core/problem.js';

/**
 * Runs a part of a command; what the system refuses in it ends the command with one error that says
 * what was being done, where, and what next.
 */
export function saying<T>(doing: string, next: string, run: () => T): T {
  try {
    const result = run();
    if (!(result instanceof Promise)) return result;
    return result.catch((error: unknown) => {
      throw named(doing, next, error);
    }) as T;
  } catch (error) {
    throw named(doing, next, error);
  }
}

function named(doing: string, next: string, error: unknown): unknown {
  if (error instanceof PreimageError || errnoOf(error) === '') return error;
  const path = error instanceof Error && 'path' in error ? String(error.path) : '';
  // Paths through descriptors tell a reader nothing.
  const where = path === '' || path.startsWith('/proc/') ? '' : ` (${path})`;
  const room = isErrno(error, 'ENOSPC', 'EDQUOT') ? 'Make room first. ' : '';
  return new PreimageError('cannot-store', `Cannot ${doing}: ${errnoWords(error)}${where}.`, {
    hint: `${room}${next}`,
    cause: error,
  });
}
