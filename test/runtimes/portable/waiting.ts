// Waiting, deadlines and retries, with the timers of the runtime.

import { systemClock } from '../../../packages/sluice/src/engines/index.ts'
import { createLimiter, fixedWindow, gcra, memoryStore, waitingLine } from '../../../packages/sluice/src/index.ts'
import { failingStore, fakeClock } from '../../../packages/sluice/src/testing/index.ts'
import { codeOf, expectEqual } from '../expect-equal.ts'
import type { PortableContext } from './index.ts'

const EVERY_MS = 40

export function waitingTests({ runner }: PortableContext): void {
  runner.describe('waiting', () => {
    runner.test('callers are served in order, none before its time', async () => {
      const store = memoryStore()
      const limiter = createLimiter({ rules: gcra({ limit: 1, period: EVERY_MS }), store, waiting: waitingLine() })
      const served: number[] = []
      const startMs = Date.now()
      await Promise.all([0, 1, 2, 3].map((i) => limiter.wait('k').then(() => served.push(i))))
      expectEqual('order', served, [0, 1, 2, 3])
      // Timers of some runtimes fire up to a millisecond early, and the limiter waits again.
      const tookMs = Date.now() - startMs
      expectEqual(`at least ${3 * EVERY_MS} ms, took ${tookMs}`, tookMs >= 3 * EVERY_MS - 1, true)
      await limiter.close()
      store.close()
    })

    runner.test('maxWaitMs and signal end a wait, and the clock of a test moves it', async () => {
      const clock = fakeClock()
      const rules = fixedWindow({ limit: 1, window: '1m' })
      const limiter = createLimiter({ rules, store: memoryStore({ clock }), waiting: waitingLine() })
      await limiter.wait('k')
      expectEqual('maxWaitMs', await codeOf(limiter.wait('k', { maxWaitMs: 10 })), 'ERR_WAIT_TIMEOUT')
      const abort = new AbortController()
      const aborted = limiter.wait('k', { signal: abort.signal }).catch((error: unknown) => error === abort.signal.reason)
      const patient = limiter.wait('k')
      abort.abort()
      expectEqual('signal', await aborted, true)
      clock.advance(60_000)
      expectEqual('patient', (await patient).allowed, true)
      await limiter.close()
    })
  })

  runner.describe('a store that is slow or gone', () => {
    const rules = fixedWindow({ limit: 5, window: '1h' })

    runner.test('fails its callers at their deadline', async () => {
      const store = failingStore(systemClock)
      store.plan = 'stall'
      const limiter = createLimiter({ rules, store, failure: { timeoutMs: 30 } })
      expectEqual('code', await codeOf(limiter.hit('k')), 'ERR_STORE_UNKNOWN')
    })

    runner.test('is asked again after a refusal, until it answers', async () => {
      const store = failingStore(systemClock)
      let calls = 0
      store.plan = () => {
        calls += 1
        return calls < 3 ? 'refuse' : 'answer'
      }
      const limiter = createLimiter({ rules, store, failure: { timeoutMs: 5000 } })
      expectEqual('remaining', (await limiter.hit('k')).remaining, 4)
      expectEqual('calls', calls, 3)
    })

    runner.test('is replaced by memory under local', async () => {
      const store = failingStore(systemClock)
      store.plan = 'lose-call'
      const limiter = createLimiter({ rules, store, failure: { then: 'local' } })
      const decisions = await Promise.all(Array.from({ length: 7 }, () => limiter.hit('k')))
      expectEqual('allowed', decisions.filter(({ allowed }) => allowed).length, 5)
      expectEqual('source', decisions[0].source, 'fallback')
      await limiter.close()
    })
  })
}
