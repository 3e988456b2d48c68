// An answer that is asked for again and again while somebody looks. What was known last stays in view when asking fails.

import { useEffect, useState } from 'preact/hooks'
import { type ApiError, get } from './call.ts'

export interface Polled<T> {
  /** Undefined until the first answer. */
  readonly data: T | undefined
  /** Why the last try failed, if it did. */
  readonly error: ApiError | undefined
  /** Asks at once. */
  readonly again: () => void
}

/** Asks for `path` now and every so often; `undefined` asks for nothing. Rests while the page is hidden. */
export function usePolled<T>(path: string | undefined, everyMs: number): Polled<T> {
  const [answer, setAnswer] = useState<{ path?: string; data?: T; error?: ApiError }>({})
  const [turn, setTurn] = useState(0)
  useEffect(() => {
    if (path === undefined) return
    const stop = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    const ask = async () => {
      clearTimeout(timer)
      if (document.hidden) return
      try {
        const data = await get<T>(path, stop.signal)
        if (!stop.signal.aborted) setAnswer({ path, data })
      } catch (error) {
        if (!stop.signal.aborted) setAnswer((before) => ({ ...before, error: error as ApiError }))
      }
      if (!stop.signal.aborted) timer = setTimeout(ask, everyMs)
    }
    ask()
    document.addEventListener('visibilitychange', ask)
    return () => {
      stop.abort()
      clearTimeout(timer)
      document.removeEventListener('visibilitychange', ask)
    }
  }, [path, everyMs, turn])
  return { data: answer.data, error: answer.error, again: () => setTurn((before) => before + 1) }
}
