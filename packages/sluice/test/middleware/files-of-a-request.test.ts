// Counts the files that one request passes: modules of the library in which a function runs, from Express to `limiter.hit` and back.
// The files of the hit itself are the store's, and are not counted: they are the same without any middleware.

import { once } from 'node:events'
import { createServer } from 'node:http'
import { Session } from 'node:inspector/promises'
import type { AddressInfo } from 'node:net'
import express from 'express'
import { expect, test } from 'vitest'
import { fixedWindow } from '../../src/algorithms/fixed-window/fixed-window.ts'
import { createLimiter } from '../../src/create-limiter.ts'
import { expressLimiter } from '../../src/middleware/express.ts'

const SRC = new URL('../../src/', import.meta.url).pathname

/** The modules of the library in which a function runs while `run` is awaited. */
async function modulesOf(run: () => unknown): Promise<string[]> {
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  await session.post('Profiler.takePreciseCoverage')
  await run()
  const { result } = await session.post('Profiler.takePreciseCoverage')
  session.disconnect()
  const ran = result.filter(({ functions }) => functions.some(({ ranges }) => ranges.some(({ count }) => count > 0)))
  return ran
    .map(({ url }) => url.replace('file://', ''))
    .filter((url) => url.startsWith(SRC))
    .map((url) => url.slice(SRC.length))
    .sort()
}

const rules = fixedWindow({ limit: 100, window: '1m' })

test('an Express request passes fewer than ten files on its way to the hit and back', async () => {
  const app = express()
  app.use(expressLimiter({ rules }))
  app.use((_req, res) => void res.send('hello'))
  const server = createServer(app).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const ask = async () => {
    const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
    expect(response.headers.get('RateLimit')).toMatch(/r=\d+/)
  }
  await ask()
  const modules = await modulesOf(ask)
  server.close()
  const limiter = createLimiter({ rules })
  limiter.hit('ada')
  const ofTheHit = await modulesOf(() => limiter.hit('ada'))
  const passed = modules.filter((module) => module === 'core/limiter.ts' || !ofTheHit.includes(module))
  expect(passed).toEqual([
    'core/limiter.ts',
    'http/peer-address.ts',
    'http/rate-limit-fields.ts',
    'http/responder.ts',
    'middleware/gate/gate.ts',
    'middleware/gate/maybe-promise.ts',
    'middleware/gate/node-adapter.ts',
    'middleware/gate/raw-headers.ts',
    'middleware/gate/request-context.ts',
  ])
  expect(passed.length).toBeLessThan(10)
})
