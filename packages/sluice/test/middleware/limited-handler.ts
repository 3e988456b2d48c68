// A fetch handler behind a limiter that counts on a fake clock, as it is called by Deno.

import { clientAddress } from '../../src/http/client-address.ts'
import { fetchLimiter } from '../../src/middleware/fetch.ts'
import type { AnyOptions } from '../../src/middleware/gate/options.ts'
import { memoryStore } from '../../src/stores/memory/memory-store.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'

export type Options = AnyOptions<Request>

/** Deno's second argument of a handler. */
export const DENO = { remoteAddr: { hostname: '203.0.113.9' } }

export function limitedHandler(
  options: Options,
  handler: (request: Request) => Response | Promise<Response> = () => new Response('hello'),
) {
  const clock = fakeClock()
  const usual = options.limiter === undefined ? { store: memoryStore({ clock }) } : {}
  const limited = fetchLimiter({ ...usual, ...options })((request: Request, _info: unknown) => handler(request))
  const ask = (headers: Record<string, string> = {}) => limited(new Request('http://localhost/', { headers }), DENO)
  /** The field `RateLimit` of the response. */
  const field = async (headers?: Record<string, string>) => (await ask(headers)).headers.get('RateLimit')
  return { clock, ask, field }
}

/** Takes the peer for the client, and warns of nothing. */
export const NO_PROXY = clientAddress({ trustProxy: 0 })
