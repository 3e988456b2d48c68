// The portable tests in workerd and Chromium, in few steps. `npm run test:runtimes` runs them in all runtimes. And the doors of the built
// package load everywhere: they import nothing, and do nothing before the first call.

import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { createLimiter, dumpStore, memoryStore } from 'sluice'
import { everyRule } from 'sluice/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type SluiceService, startSluice } from '../servers/sluice-service.mjs'
import { startWorker, whyNoWorkerd } from '../servers/workerd-server.mjs'
import { runInChromium } from './browser.mjs'
import { bundlePortable } from './bundle.mjs'
import { runInWorkerd } from './workerd.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
const whyNot = whyNoWorkerd()

/** Doors for runtimes with modules of Node: sockets, diagnostics channels, node:http. */
const NEEDS_NODE = ['sluice/memcached', 'sluice/tracing', 'sluice-client/node']
const doors = ['sluice', 'client'].flatMap((folder) => {
  const { name, exports } = JSON.parse(readFileSync(`${root}packages/${folder}/package.json`, 'utf8'))
  return Object.keys(exports)
    .filter((door) => !door.endsWith('.json'))
    .map((door) => `${name}${door.slice(1)}`)
    .filter((door) => !NEEDS_NODE.includes(door))
})

describe('the portable tests', () => {
  const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31))
  let bundle: Awaited<ReturnType<typeof bundlePortable>>
  let running: SluiceService
  const service = (prefix: string) => ({ url: running.url, key: running.key, prefix })
  beforeAll(async () => {
    bundle = await bundlePortable()
    running = await startSluice()
  })
  afterAll(async () => {
    bundle?.remove()
    await running?.remove()
  })

  test('in Chromium', async () => {
    const { outcome } = await runInChromium(bundle.text, { seed, steps: 20, service: service('Chromium') })
    expect(outcome.failed, `SEED=${seed}`).toEqual([])
    expect(outcome.passed).toBeGreaterThan(500)
  })

  test.skipIf(whyNot !== '')(`in workerd${whyNot && `, skipped: ${whyNot}`}`, async () => {
    const { passed, failed } = await runInWorkerd(bundle.file, { seed, steps: 20, service: service('workerd') })
    expect(failed, `SEED=${seed}`).toEqual([])
    expect(passed).toBeGreaterThan(500)
  })
})

test.each(doors)('%s imports nothing of Node, and nothing of others', async (door) => {
  const { metafile, warnings } = await build({
    stdin: { contents: `export * from '${door}'`, resolveDir: root },
    ...{ bundle: true, format: 'esm', platform: 'neutral', write: false, metafile: true, logLevel: 'silent' },
  })
  expect(warnings).toEqual([])
  const [{ imports, inputs }] = Object.values(metafile.outputs)
  expect(imports).toEqual([])
  expect(Object.keys(inputs).filter((file) => file !== '<stdin>' && !/packages\/(sluice|client)\/dist\//.test(file))).toEqual([])
})

test.skipIf(whyNot !== '')('workerd allows everything that is made outside of a handler: no timer, no random value', async () => {
  const worker = await startWorker({
    code: EVERYTHING.replace('IMPORTS', doors.map((door) => `import '${door}'`).join('\n')).replace(
      'DUMP',
      String(dumpOfOneHit()),
    ),
    folder: root,
    objects: { SLUICE: 'SluiceObject' },
    compatibilityDate: '2025-04-01',
  })
  try {
    expect(await (await fetch(worker.url)).text(), worker.printed()).toBe('true,true,true 3')
  } finally {
    await worker.stop()
  }
})

/** A dump with a hit of every rule. */
function dumpOfOneHit(): Uint8Array {
  const store = memoryStore()
  createLimiter({ rules: everyRule(), store }).hit('ada')
  store.close()
  return dumpStore(store)
}

/** A Worker that makes all that can be made, before the first request. */
const EVERYTHING = `
IMPORTS
import { env } from 'cloudflare:workers'
import { createLimiter, parseRule, restoreStore, waitingLine } from 'sluice'
import { durableObjectStore } from 'sluice/durable-object'
import { fetchLimiter } from 'sluice/fetch'
import { honoLimiter } from 'sluice/hono'
import { clientList } from 'sluice/http'
import { redisStore } from 'sluice/redis'
import { everyRule } from 'sluice/testing'
export { SluiceObject } from 'sluice/durable-object'

const rules = everyRule()
const memory = createLimiter({ rules, waiting: waitingLine() })
const restored = createLimiter({ rules, store: restoreStore(Uint8Array.of(DUMP)) })
const objects = createLimiter({ rules, store: durableObjectStore(env.SLUICE), failure: { then: 'local', timeoutMs: 20_000 } })
const redis = createLimiter({ rules, store: redisStore({ url: 'https://redis.invalid', token: 't' }), waiting: waitingLine() })
const key = () => 'ada'
const made = [
  fetchLimiter({ rules: parseRule('9/minute'), key, block: clientList({ addresses: ['203.0.113.9'] }) }),
  honoLimiter({ rules: parseRule('9/minute'), key }),
  redis,
]

export default {
  async fetch() {
    const decisions = [memory.hit('ada'), restored.hit('ada'), await objects.hit('ada')]
    return new Response(decisions.map(({ allowed }) => allowed).join() + ' ' + made.length)
  },
}
`
