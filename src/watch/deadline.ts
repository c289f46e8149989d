/** What came of a wait. */
export type Waited<T> = { readonly kind: 'done'; readonly value: T } | { readonly kind: 'late' };

/**
 * Waits for a promise, but not longer than `ms` milliseconds; rejects as the promise does.
 *
 * What comes after the deadline is dropped, a rejection as well; whoever holds something that must be
 * given back waits for the promise by itself.
 */
export async function waitAtMost<T>(promise: Promise<T>, ms: number): Promise<Waited<T>> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<Waited<T>>((resolve) => {
    timer = setTimeout(() => resolve({ kind: 'late' }), ms);
  });
  try {
    return await Promise.race([promise.then((value) => ({ kind: 'done', value }) as const), late]);
  } finally {
    clearTimeout(timer);
  }
}
