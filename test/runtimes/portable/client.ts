// sluice-client against a real service: check, batch, hold, policies and fallback.

import { createClient, type Fetch } from '../../../packages/client/src/index.ts'
import { createLimiter, fixedWindow } from '../../../packages/sluice/src/index.ts'
import { codeOf, expectEqual } from '../expect-equal.ts'
import type { PortableContext } from './index.ts'

/** Nobody listens there. */
const NOBODY = 'http://127.0.0.1:1'

/** Long enough for a busy machine. */
const PATIENT = { timeoutMs: 20_000 }

export function clientTests({ runner, service }: PortableContext): void {
  if (service === undefined) return
  const { url, key, prefix } = service

  /** A client, and the paths that it asks. */
  function recorded() {
    const paths: string[] = []
    const fetch: Fetch = (address, init) => {
      paths.push(new URL(address).pathname)
      return globalThis.fetch(address, init)
    }
    return { paths, client: createClient({ url, apiKey: key, fetch, failure: PATIENT }) }
  }

  runner.describe('sluice-client', () => {
    runner.test('policies, and checks until a denial with its wait', async () => {
      const client = createClient({ url, apiKey: key, failure: PATIENT })
      const clientId = `${prefix} check`
      const rules = { algorithm: 'token-bucket', capacity: 2, refill: 1, every: '1h', name: 'burst' } as const
      const { etag } = await client.policies.put({ name: `${prefix}-check`, client: clientId, rules })
      const check = () => client.check({ clientId, route: '/a' })
      const [first, second, third] = [await check(), await check(), await check()]
      expectEqual('allowed', [first.allowed, second.allowed, third.allowed], [true, true, false])
      expectEqual('remaining', [first.remaining, second.remaining, third.remaining], [1, 0, 0])
      expectEqual('the wait is in (0, 1h]', third.retryAfterMs > 0 && third.retryAfterMs <= 3_600_000, true)
      expectEqual('source', [third.source, third.retryable], ['service', true])
      await client.policies.delete(`${prefix}-check`, { ifMatch: etag })
      client.close()
    })

    runner.test('checks of one turn are one request, a lone check is one of its own', async () => {
      const { client, paths } = recorded()
      const clientId = `${prefix} batch`
      const both = await Promise.all(['/a', '/b', '/c'].map((route) => client.check({ clientId, route })))
      expectEqual(
        'allowed',
        both.map(({ allowed }) => allowed),
        [true, true, true],
      )
      await client.check({ clientId, route: '/a' })
      expectEqual('paths', paths, ['/v1/check/batch', '/v1/check'])
      client.close()
    })

    runner.test('holds: reserve, settle, run', async () => {
      const { client, paths } = recorded()
      const counter = { clientId: `${prefix} hold`, route: '/a' }
      const hold = await client.reserve({ ...counter, hold: 40, ttl: '1m' })
      expectEqual('granted', [hold.allowed, hold.granted], [true, { 'rule-1': 40 }])
      await hold.settle({ 'rule-1': 12 })
      const ran = await client.run({ ...counter, hold: 5 }, () => 'done')
      expectEqual('ran', [ran.allowed, ran.value], [true, 'done'])
      expectEqual('used', (await client.usage(counter)).rules[0].used, 17)
      expectEqual('paths', paths, ['/v1/reserve', '/v1/settle', '/v1/reserve', '/v1/settle', '/v1/usage'])
      client.close()
    })

    runner.test('a wrong key is refused, whatever the fallback', async () => {
      const client = createClient({ url, apiKey: 'wrong', failure: { ...PATIENT, then: 'allow' } })
      expectEqual('code', await codeOf(client.check({ clientId: prefix, route: '/a' })), 'ERR_UNAUTHENTICATED')
      client.close()
    })

    runner.test('a service that cannot be reached: the fallback decides, and the breaker opens', async () => {
      const standIn = createLimiter({ rules: fixedWindow({ limit: 2, window: '1h' }) })
      const failure = { ...PATIENT, then: 'local', standIn, failures: 2, probeEveryMs: 60_000 } as const
      const client = createClient({ url: NOBODY, retry: false, failure })
      const seen: unknown[] = []
      for (let i = 0; i < 3; i++) {
        const { allowed, source, error } = await client.check({ clientId: 'ada', route: '/a' })
        seen.push([allowed, source, error?.isOutage, error?.code === 'ERR_NOT_ASKED'])
      }
      expectEqual('decisions', seen, [
        [true, 'fallback', true, false],
        [true, 'fallback', true, false],
        [false, 'fallback', true, true],
      ])
      standIn.close()
      client.close()
    })

    runner.test('a service that does not answer: the call ends at its deadline', async () => {
      const silent: Fetch = (_, { signal }) =>
        new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))))
      const client = createClient({ url, fetch: silent, failure: { timeoutMs: 50 } })
      expectEqual('code', await codeOf(client.check({ clientId: 'ada', route: '/a' })), 'ERR_DEADLINE')
      client.close()
    })
  })
}
