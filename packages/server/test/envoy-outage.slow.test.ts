// The service stops and starts again under load behind a real Envoy, with both failure modes. Skipped where there is no Envoy.

import { expect, test } from 'vitest'
import { findEnvoy } from '../../../scripts/find-envoy.mjs'
import { freePort, until } from '../../../test/servers/redis-server.mjs'
import { startService } from './running-service.ts'
import { temporaryFolder } from './temporary-folder.ts'
import { type Get, startEnvoy, withText } from './through-envoy.ts'

/** Clients that send one request after the other. */
const CLIENTS = 4

/** Requests that each phase needs at least. */
const LEAST_REQUESTS = 200

/** Sends requests until it is stopped. Counts statuses, and answers that came from the service. */
class Load {
  readonly #working: Promise<unknown>
  #isStopped = false
  /** Number of answers by status, since the last call of `begin`. `limited` is the number of answers with fields of Sluice. */
  counts: { requests: number; limited: number; statuses: Record<number, number> } = { requests: 0, limited: 0, statuses: {} }

  constructor(get: Get) {
    this.#working = Promise.all(Array.from({ length: CLIENTS }, () => this.#work(get)))
  }

  begin(): void {
    this.counts = { requests: 0, limited: 0, statuses: {} }
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#working
  }

  async #work(get: Get): Promise<void> {
    while (!this.#isStopped) {
      const { status, headers } = await get()
      const { counts } = this
      counts.requests += 1
      counts.limited += headers.has('ratelimit') ? 1 : 0
      counts.statuses[status] = (counts.statuses[status] ?? 0) + 1
    }
  }
}

const MODES = [
  { deny: false, outage: [200], says: 'lets requests pass' },
  { deny: true, outage: [500], says: 'refuses requests' },
]

test.skipIf(findEnvoy() === undefined).each(MODES)(
  'with failure_mode_deny $deny Envoy $says while the service is away, and enforces limits again when it is back',
  { timeout: 120_000 },
  async ({ deny, outage }) => {
    const rlsPort = await freePort()
    const folder = temporaryFolder()
    const start = (key?: string) =>
      startService({ folder, flags: { rls: `127.0.0.1:${rlsPort}`, drainDelay: '250ms' }, ...(key && { key }) })
    const service = await start()
    const policy = { route: 'edge|remote_address', rules: '1000000/hour' }
    await service.call('PUT', '/v1/policies/per-address', policy)
    const change = (guide: string): string => withText(guide, 'failure_mode_deny: false', `failure_mode_deny: ${deny}`)
    const get = await startEnvoy({ rlsPort, key: service.key, change })
    await until('a limit through Envoy', async () => (await get()).headers.has('ratelimit'))
    const load = new Load(get)
    const phase = async (isReached: () => boolean): Promise<Load['counts']> => {
      load.begin()
      await until('enough requests', async () => load.counts.requests >= LEAST_REQUESTS && isReached(), 30_000)
      return load.counts
    }
    try {
      const before = await phase(() => true)
      expect(before.limited).toBe(before.requests)
      expect(Object.keys(before.statuses)).toEqual(['200'])

      load.begin()
      await service.close()
      // While it stops, a request may still be decided, or pass by the failure mode.
      expect(Object.keys(load.counts.statuses).filter((status) => status !== '200' && status !== String(outage[0]))).toEqual([])
      await until('the outage', async () => !(await get()).headers.has('ratelimit'))
      const during = await phase(() => true)
      expect(during.limited).toBe(0)
      expect(Object.keys(during.statuses).map(Number)).toEqual(outage)

      await start(service.key)
      await until('a limit through Envoy', async () => (await get()).headers.has('ratelimit'), 30_000)
      const after = await phase(() => true)
      expect(after.limited).toBe(after.requests)
      expect(Object.keys(after.statuses)).toEqual(['200'])
    } finally {
      await load.stop()
    }
  },
)
