// A Worker that runs the suite for stores on Durable Objects, and answers with the outcome.

import { CollectedTests } from '../../../../test/runtimes/collected-tests.ts'
import {
  durableObjectStore,
  type ObjectContext,
  type ObjectNamespace,
  SluiceObject,
} from '../../src/stores/durable-object/index.ts'
import { fakeClock, storeSuite } from '../../src/testing/index.ts'

/** The clock of the test that runs. In workerd a Worker and its objects share one isolate, and so this variable. */
let current = fakeClock()

let stores = 0

export class SuiteObject extends SluiceObject {
  constructor(ctx: ObjectContext, env: unknown) {
    super(ctx, env, { clock: { now: () => current.now() } })
  }
}

export default {
  async fetch(request: Request, env: { readonly SLUICE: ObjectNamespace }): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url)
    if (pathname !== '/suite') return new Response('started')
    const [shards, steps, seed] = ['shards', 'steps', 'seed'].map((name) => Number(searchParams.get(name)))
    const runner = new CollectedTests()
    storeSuite(
      `${shards} objects`,
      (clock) => {
        current = clock
        stores += 1
        return durableObjectStore(env.SLUICE, { clock, shards, name: `suite-${stores}` })
      },
      { runner, steps, seed, decidesInParts: shards > 1 },
    )
    return Response.json(await runner.run())
  },
}
