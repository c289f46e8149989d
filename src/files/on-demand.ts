/*
 * Parts of Node that take milliseconds to load, for those who need them only at times: a hook is
 * started hundreds of times a day, and most commands start neither a process nor a thread.
 */

/** Gives `node:child_process`, loaded by the first that asks. */
export function childProcess(): typeof import('node:child_process') {
  return process.getBuiltinModule('node:child_process');
}

/** Gives `node:worker_threads`, loaded by the first that asks. */
export function workerThreads(): typeof import('node:worker_threads') {
  return process.getBuiltinModule('node:worker_threads');
}
