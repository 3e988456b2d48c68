// Asks the service what a proposed policy would do with the checks of the last hour.
// Invariant: at most one request is on its way. A change of the policy, a stop or leaving the page ends it, and the service ends its replay.

import { useEffect, useRef, useState } from 'preact/hooks'
import type { RequestOf } from 'sluice-client/contract'
import type { PolicySpec, Simulation } from '../../api/answers.ts'
import { ApiError, call } from '../../api/call.ts'

/** Pause after the last change of a policy. */
const QUIET_MS = 600

/** Pause and number of attempts while the service replays for somebody else. */
const BUSY_MS = 1000
const MOST_ATTEMPTS = 20

/** Clients in each list. */
const TOP = 10

export interface Simulated {
  /** `due`: it will be asked for in a moment. */
  readonly phase: 'idle' | 'due' | 'asking' | 'done' | 'refused'
  /** The last answer. It may be that of an earlier form of the policy, unless the phase is `done`. */
  readonly report: Simulation | undefined
  /** Set if the phase is `refused`. */
  readonly problem: ApiError | undefined
  readonly ask: () => void
  readonly stop: () => void
}

type Answer = Pick<Simulated, 'phase' | 'report' | 'problem'>

const NOTHING: Answer = { phase: 'idle', report: undefined, problem: undefined }

/** Asks by itself for each new form of the policy, if `isLive`. Undefined: there is nothing to ask for. */
export function useSimulation(policy: PolicySpec | undefined, isLive: boolean): Simulated {
  const [answer, setAnswer] = useState(NOTHING)
  const running = useRef<AbortController | undefined>(undefined)
  const key = policy && JSON.stringify(policy)

  const stop = () => {
    running.current?.abort()
    running.current = undefined
  }
  const ask = async (body: string, pauseMs: number) => {
    stop()
    const own = new AbortController()
    running.current = own
    const put = (phase: Answer['phase'], more: Partial<Answer> = {}) => {
      if (!own.signal.aborted) setAnswer(({ report }) => ({ report, problem: undefined, phase, ...more }))
    }
    put(pauseMs > 0 ? 'due' : 'asking')
    try {
      await pause(pauseMs, own.signal)
      put('asking')
      put('done', { report: await simulated(body, own.signal) })
    } catch (error) {
      put('refused', { problem: asApiError(error) })
    }
  }

  useEffect(() => {
    if (key === undefined || !isLive) setAnswer(({ report }) => ({ ...NOTHING, report: isLive ? report : undefined }))
    else void ask(key, QUIET_MS)
    return stop
  }, [key, isLive])

  return {
    ...answer,
    ask: () => key !== undefined && void ask(key, 0),
    stop: () => {
      stop()
      setAnswer(({ report }) => ({ ...NOTHING, report }))
    },
  }
}

/** Asks again while the service replays for somebody else. */
async function simulated(policy: string, signal: AbortSignal): Promise<Simulation> {
  const body = { policies: [JSON.parse(policy)], top: TOP } as RequestOf<'simulatePolicies'>['body'] & object
  for (let attempt = 1; ; attempt++) {
    try {
      return await call('simulatePolicies', { body }, signal)
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'ERR_BUSY' || attempt >= MOST_ATTEMPTS) throw error
      await pause(BUSY_MS, signal)
    }
  }
}

function asApiError(error: unknown): ApiError {
  return error instanceof ApiError ? error : new ApiError(0, 'ERR_UNKNOWN', (error as Error).message)
}

/** Rejects if the signal is aborted. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      reject(signal.reason)
    })
  })
}
