// A stop under load loses nothing, behind nginx and for direct clients. `npm run test:drain` runs longer.

import { Agent, request } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { startSluice } from '../servers/sluice-service.mjs'
import { rollingRestarts } from './rolling-restarts.mjs'

test('behind a keep-alive nginx, instances that restart in turn under load fail no request, and count each once', async () => {
  const result = await rollingRestarts({ requests: 4000, connections: 40, leastRestarts: 2 })
  expect(result.failures).toEqual([])
  expect(result.counted).toBe(result.requests)
  expect(result.exitCodes).toEqual(result.exitCodes.map(() => 0))
})

test('40 clients with connections of their own, some of them idle, see no connection reset', async () => {
  const service = await startSluice({ args: ['--drain-delay', '300ms'] })
  onTestFinished(() => service.remove())
  const { hostname, port } = new URL(service.url)
  const headers = { 'api-key': service.key, 'content-type': 'application/json' }
  /** Returns `more`, `closing` if the service asked to close, or the code of an error. */
  const ask = (agent: Agent): Promise<string> =>
    new Promise((resolve) => {
      const asked = request({ hostname, port, agent, method: 'POST', path: '/v1/check', headers }, (response) => {
        response.resume().on('end', () => resolve(response.headers.connection === 'close' ? 'closing' : 'more'))
        response.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
      })
      asked.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
      asked.end(JSON.stringify({ client_id: 'ada', route: '/a' }))
    })
  let answered = 0
  const client = async (nth: number): Promise<string> => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    onTestFinished(() => agent.destroy())
    for (;;) {
      const result = await ask(agent)
      if (result !== 'more') return result
      answered += 1
      // Pauses of up to 600 ms are longer than the drain delay, so some clients send only after it.
      await pause(nth * 15)
    }
  }
  const clients = Array.from({ length: 40 }, (_, nth) => client(nth))
  while (answered < 200) await pause(5)
  expect(await service.stop()).toBe(0)
  // A client with a longer pause opens a new connection, and learns that nothing listens before it sends a request.
  const ends = new Set(await Promise.all(clients))
  expect([...ends].filter((end) => end !== 'closing' && end !== 'ECONNREFUSED')).toEqual([])
  expect(ends).toContain('closing')
})
