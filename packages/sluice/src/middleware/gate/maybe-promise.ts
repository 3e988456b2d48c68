// A value, or a promise of it. A value is used at once, because a promise takes longer than a hit in memory.

export type MaybePromise<T> = T | PromiseLike<T>

function isPromise<T>(value: MaybePromise<T>): value is PromiseLike<T> {
  return typeof value === 'object' && value !== null && typeof (value as PromiseLike<T>).then === 'function'
}

/** Calls `next` with the value: now, or when the promise resolves. */
export function andThen<T, U>(value: MaybePromise<T>, next: (value: T) => MaybePromise<U>): MaybePromise<U> {
  return isPromise(value) ? value.then(next) : next(value)
}

/** Calls `start`, and then `next` with its result or `fail` with its error. Errors of `next` are not caught. */
export function tryThen<T, U>(
  start: () => MaybePromise<T>,
  next: (value: T) => MaybePromise<U>,
  fail: (error: unknown) => MaybePromise<U>,
): MaybePromise<U> {
  let value: MaybePromise<T>
  try {
    value = start()
  } catch (error) {
    return fail(error)
  }
  return isPromise(value) ? value.then(next, fail) : next(value)
}
