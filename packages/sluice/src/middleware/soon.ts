// A value, or a promise of it. Whoever has the value goes on at once: a limiter in memory answers in less time than a promise takes.

export type Soon<T> = T | PromiseLike<T>

export function isPromise<T>(value: Soon<T>): value is PromiseLike<T> {
  return typeof value === 'object' && value !== null && typeof (value as PromiseLike<T>).then === 'function'
}

/** Goes on with the value: now, if it is there. */
export function whenKnown<T, U>(value: Soon<T>, next: (value: T) => Soon<U>): Soon<U> {
  return isPromise(value) ? value.then(next) : next(value)
}

/** Takes a step for each item, and goes on when all values are there: now, if they are. */
export function whenAllKnown<I, T, U>(
  items: readonly I[],
  step: (item: I) => Soon<T>,
  next: (values: readonly T[]) => Soon<U>,
): Soon<U> {
  if (items.length === 1) return whenKnown(step(items[0]), (value) => next([value]))
  const values = items.map((item) => caught(step, item))
  return values.some(isPromise) ? Promise.all(values).then(next) : next(values as readonly T[])
}

/** A step that throws becomes a promise that rejects: what others have under way is awaited, and does not fail with nobody listening. */
function caught<I, T>(step: (item: I) => Soon<T>, item: I): Soon<T> {
  try {
    return step(item)
  } catch (error) {
    return Promise.reject(error)
  }
}
