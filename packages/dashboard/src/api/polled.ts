// Repeats a request while a page is visible. If a request fails, the last answer stays in view.

import { useEffect, useRef, useState } from 'preact/hooks'
import { addressOf, type DataOf, type OperationId, type RequestOf } from 'sluice-client/contract'
import { type ApiError, call } from './call.ts'

export interface Polled<T> {
  /** Undefined until the first answer. */
  readonly data: T | undefined
  /** The error of the last request, if it failed. */
  readonly error: ApiError | undefined
  /** Sends the request now. */
  readonly again: () => void
}

/** Calls an operation now and every `everyMs`. Pauses while the page is hidden. An undefined request sends nothing. */
export function usePolled<Id extends OperationId>(
  id: Id,
  request: RequestOf<Id> | undefined,
  everyMs: number,
): Polled<DataOf<Id>> {
  const [answer, setAnswer] = useState<{ data?: DataOf<Id>; error?: ApiError }>({})
  const [turn, setTurn] = useState(0)
  const latest = useRef(request)
  latest.current = request
  const path = request && addressOf(id, request).path
  useEffect(() => {
    if (path === undefined) return
    const stop = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    const ask = async () => {
      clearTimeout(timer)
      if (document.hidden) return
      try {
        const data = await call(id, latest.current, stop.signal)
        if (!stop.signal.aborted) setAnswer({ data })
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
  }, [id, path, everyMs, turn])
  return { data: answer.data, error: answer.error, again: () => setTurn((before) => before + 1) }
}
