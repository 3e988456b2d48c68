// A value, or a promise of it. Whoever has the value goes on at once: a limiter in memory answers in less time than a promise takes.

export type Soon<T> = T | PromiseLike<T>

export function isPromise<T>(value: Soon<T>): value is PromiseLike<T> {
  return typeof value === 'object' && value !== null && typeof (value as PromiseLike<T>).then === 'function'
}

/** Goes on with the value: now, if it is there. */
export function whenKnown<T, U>(value: Soon<T>, next: (value: T) => Soon<U>): Soon<U> {
  return isPromise(value) ? value.then(next) : next(value)
}

/** Takes a step for each item; → all values, now if they are there. */
export function allKnown<I, C, T>(items: readonly I[], step: (item: I, context: C) => Soon<T>, context: C): Soon<readonly T[]> {
  if (items.length === 1) {
    const value = step(items[0], context)
    return isPromise(value) ? value.then((value) => [value]) : [value]
  }
  const values = items.map((item) => caught(() => step(item, context)))
  return values.some(isPromise) ? Promise.all(values) : (values as readonly T[])
}

/** A step that throws becomes a promise that rejects: what others have under way is awaited, and does not fail with nobody listening. */
function caught<T>(step: () => Soon<T>): Soon<T> {
  try {
    return step()
  } catch (error) {
    return Promise.reject(error)
  }
}
