// Repeats a request while a page is visible. If a request fails, the last answer stays in view.

import { useEffect, useState } from 'preact/hooks'
import { type ApiError, get } from './call.ts'

export interface Polled<T> {
  /** Undefined until the first answer. */
  readonly data: T | undefined
  /** The error of the last request, if it failed. */
  readonly error: ApiError | undefined
  /** Sends the request now. */
  readonly again: () => void
}

/** Requests `path` now and every `everyMs`. Pauses while the page is hidden. An undefined path sends nothing. */
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
