// Runs the suite for stores through ioredis, in Node, Bun or Deno, on the built package. Arguments: the port of Redis, and the settings
// as JSON. Prints the outcome.

import { Redis } from 'ioredis'
import { redisStore } from 'sluice/redis'
import { storeSuite } from 'sluice/testing'

const [port, settings] = process.argv.slice(2)
const { seed, steps, collected, prefix } = JSON.parse(settings)
const { CollectedTests } = await import(collected)

const client = new Redis(Number(port), '127.0.0.1', { lazyConnect: true })
// The suite's clock stands still, so that calls that are refused would not be tried again.
await client.connect()
const runner = new CollectedTests()
let prefixes = 0
storeSuite('ioredis', (clock) => redisStore(client, { clock, prefix: `${prefix}-${prefixes++}` }), { runner, seed, steps })
console.log(JSON.stringify(await runner.run()))
client.disconnect()
