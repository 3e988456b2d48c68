// A program with the types that openapi-typescript makes. It is compiled, not run: the shapes have to be usable.

import type { components, operations, paths } from './openapi.ts'

type Check = operations['check']['requestBody']['content']['application/json']
type Answer = operations['check']['responses'][200]['content']['application/json']
type Failure = components['schemas']['Failure']
type PutPolicy = paths['/v1/policies/{name}']['put']

export const check: Check = { client_id: 'ada', route: '/v1/orders', cost: 2 }

export function waitMs({ data }: Answer): number {
  return data.status === 'Allow' ? 0 : (data.retry_after_ms ?? Number.POSITIVE_INFINITY)
}

export const policy: PutPolicy['requestBody']['content']['application/json'] = {
  client: 'ada',
  rules: [{ algorithm: 'token-bucket', capacity: 20, refill: 10, every: '1s' }, '100/minute'],
}

// @ts-expect-error: a token bucket has no window
export const wrong: components['schemas']['TokenBucketRule'] = { algorithm: 'token-bucket', limit: 1, window: '1s' }

export const added: PutPolicy['responses'][201]['content']['application/json']['meta']['code'] = 201

export function isRefused({ meta }: Failure): boolean {
  return meta.error === 'ERR_UNAUTHENTICATED' && meta.code === 401
}
