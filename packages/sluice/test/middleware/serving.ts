// Servers for the suites: a framework behind limiters that count on a fake clock.

import { afterEach } from 'vitest'
import { clientAddress } from '../../src/http/client-address.ts'
import { memoryStore } from '../../src/stores/memory/memory-store.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import type { Application, Framework, Options, Running } from './frameworks/framework.ts'
import { ask, type Reply, type Sent } from './raw-client.ts'

const hello: Application['handle'] = async () => ({ status: 200, body: 'hello' })

/** Returns a function that starts servers, which are stopped after each test. Only limiters with `warn` warn of proxies. */
export function serving(framework: Framework) {
  const running: Running[] = []
  afterEach(async () => {
    for (const { stop } of running.splice(0)) await stop()
  })
  return async (limiters: Options | readonly Options[], application: Partial<Application> = {}) => {
    const clock = fakeClock()
    const errors: unknown[] = []
    const defaults = (options: Options): Options => ({
      ...(options.limiter === undefined && { store: memoryStore({ clock }) }),
      ...(options.warn === undefined && { address: clientAddress({ trustProxy: 0 }) }),
      ...options,
    })
    const each = [limiters].flat() as readonly Options[]
    const made = new Map(each.map((options) => [options, defaults(options)]))
    const started = await framework.start({
      limiters: each.map((options) => made.get(options) as Options),
      handle: hello,
      onError: (error) => errors.push(error),
      http2: false,
      ...application,
    })
    running.push(started)
    return { clock, errors, port: started.port, ask: (request?: Sent) => ask(started.port, request) }
  }
}

export const statuses = (replies: readonly Reply[]): number[] => replies.map(({ status }) => status)

export const times = <T>(count: number, make: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i))
