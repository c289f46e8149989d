import { openStore, type Store } from '../index.js';
import { type CommonOptions, whichOf } from './options.js';

/** Runs a function with the history of the workspace that the options mean, and closes it after. */
export async function withStore<T>(
  options: CommonOptions,
  run: (store: Store) => T | Promise<T>,
): Promise<T> {
  const store = openStore(whichOf(options));
  try {
    return await run(store);
  } finally {
    store.close();
  }
}
