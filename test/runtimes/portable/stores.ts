// The suite for stores: the memory store, a toy on each engine, and Redis by Upstash's REST API.

import { timersEndWithRequests } from '../../../packages/sluice/src/engines/runtime-timers.ts'
import {
  createLimiter,
  dumpStore,
  fixedWindow,
  memoryStore,
  restoreStore,
  slidingLog,
} from '../../../packages/sluice/src/index.ts'
import { redisStore } from '../../../packages/sluice/src/stores/redis/index.ts'
import { fakeClock, storeSuite } from '../../../packages/sluice/src/testing/index.ts'
import { toyCompareAndSwapStore, VersionedMap } from '../../../packages/sluice/test/engines/toy-compare-and-swap-store.ts'
import { mapStore } from '../../../packages/sluice/test/engines/toy-in-place-store.ts'
import { ToyServer, toyScriptedStore } from '../../../packages/sluice/test/engines/toy-scripted-store.ts'
import { ToyDatabase, toyTransactionStore } from '../../../packages/sluice/test/engines/toy-transaction-store.ts'
import { expectEqual } from '../expect-equal.ts'
import type { PortableContext } from './index.ts'

let prefixes = 0

export function storeTests({ runner, seed, steps, upstash }: PortableContext): void {
  storeSuite('memory', (clock) => memoryStore({ clock }), { runner, seed, steps })
  storeSuite('toy, in place', (clock) => mapStore(clock), { runner, seed, steps })
  storeSuite('toy, scripted', (clock) => toyScriptedStore(new ToyServer(clock), clock), { runner, seed, steps })
  storeSuite('toy, transaction', (clock) => toyTransactionStore(new ToyDatabase(clock)), { runner, seed, steps })
  storeSuite('toy, compare and swap', (clock) => toyCompareAndSwapStore(new VersionedMap(), clock), { runner, seed, steps })
  if (upstash !== undefined) {
    const makeStore = (clock: ReturnType<typeof fakeClock>) => {
      prefixes += 1
      return redisStore({ url: upstash.url, token: upstash.token }, { clock, prefix: `${upstash.prefix}-${prefixes}` })
    }
    storeSuite('Upstash', makeStore, { runner, seed, steps: Math.ceil(steps / 20) })
  }

  runner.describe('the memory store', () => {
    runner.test('passes its states to another process as bytes', async () => {
      const clock = fakeClock()
      const store = memoryStore({ clock })
      const rules = [fixedWindow({ limit: 9, window: '1h', name: 'nine' }), slidingLog({ limit: 5, window: '1h', name: 'five' })]
      createLimiter({ rules, store }).hit('ada', { cost: 3 })
      const restored = createLimiter({ rules, store: restoreStore(dumpStore(store), { clock }) })
      expectEqual('used', [restored.get('ada', { rule: 'nine' }), restored.get('ada', { rule: 'five' })], [3, 3])
      restored.close()
      store.close()
    })

    runner.test('forgets keys that have ended, also in a runtime without a background', async () => {
      const clock = fakeClock()
      const store = memoryStore({ clock })
      const limiter = createLimiter({ rules: fixedWindow({ limit: 9, window: '1s' }), store })
      for (let round = 0; round < 20; round++) {
        clock.advance(1000)
        for (let i = 0; i < 1000; i++) limiter.hit(`${round}-${i}`)
      }
      // Elsewhere a timer sweeps, which has had no time to fire.
      if (timersEndWithRequests()) expectEqual(`at most 2,000 states of ${store.size}`, store.size <= 2000, true)
      store.clean()
      expectEqual('size after clean', store.size, 1000)
      // The store stays open: its timer must not keep a process alive.
    })
  })
}
