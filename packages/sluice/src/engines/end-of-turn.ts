// The end of the present turn of the event loop, in runtimes with and without setImmediate.

import { timersEndWithRequests } from './runtime-timers.ts'

/**
 * Returns setImmediate; undefined in runtimes that have none, and on Cloudflare Workers. There it ends with the request that called
 * it, although calls of other requests would wait for it too. It is looked up at each call, because test runners replace it.
 */
export function immediate(): ((callback: () => void) => unknown) | undefined {
  const { setImmediate } = globalThis as { readonly setImmediate?: (callback: () => void) => unknown }
  return timersEndWithRequests() ? undefined : setImmediate
}

/** Calls `callback` at the end of the turn; without setImmediate, after the code that runs now. */
export function atEndOfTurn(callback: () => void): void {
  const whenImmediate = immediate()
  if (whenImmediate === undefined) queueMicrotask(callback)
  else whenImmediate(callback)
}

/**
 * Returns the function that ends turns. If it is another one than before, a test runner has replaced the timers or put them back,
 * and a callback that waits for the end of a turn may never be called.
 */
export function endOfTurns(): unknown {
  return (globalThis as { readonly setImmediate?: unknown }).setImmediate
}
