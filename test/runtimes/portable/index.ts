// The portable tests: bundled once, and run in every runtime.

import { CollectedTests, type Outcome } from '../collected-tests.ts'
import { clientTests } from './client.ts'
import { middlewareTests } from './middleware.ts'
import { storeTests } from './stores.ts'
import { waitingTests } from './waiting.ts'

export { CollectedTests } from '../collected-tests.ts'

/** Settings of a run, from the program that starts it. */
export interface PortableSettings {
  readonly seed: number
  /** Steps of each random walk. */
  readonly steps: number
  /** Upstash's REST API before a Redis. Without it the Redis store is not tested. */
  readonly upstash?: { readonly url: string; readonly token: string; readonly prefix: string }
  /** A service with an admin key. Names of clients and policies begin with the prefix. Without it the client is not tested. */
  readonly service?: { readonly url: string; readonly key: string; readonly prefix: string }
}

export interface PortableContext extends PortableSettings {
  readonly runner: CollectedTests
}

/** Runs all portable tests. */
export function runPortable(settings: PortableSettings): Promise<Outcome> {
  const runner = new CollectedTests()
  const context = { ...settings, runner }
  storeTests(context)
  middlewareTests(context)
  waitingTests(context)
  clientTests(context)
  return runner.run()
}
