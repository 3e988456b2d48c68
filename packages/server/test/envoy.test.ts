// The service behind a real Envoy, with the configuration of the guide. Skipped where there is no Envoy.

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { findEnvoy } from '../../../scripts/find-envoy.mjs'
import { configurationOfGuide } from '../../../test/servers/envoy-server.mjs'
import { until } from '../../../test/servers/redis-server.mjs'
import { certificate, clientCertificate } from './certificate.ts'
import { entriesOf, RlsClient, rlsAddress } from './rls-client.ts'
import { startService, type TestService } from './running-service.ts'
import { temporaryFolder } from './temporary-folder.ts'
import { type Get, startEnvoy, withText } from './through-envoy.ts'

const OK = 1
const OVER_LIMIT = 2

/** Envoy, on a busy machine. */
const TIME = { timeout: 60_000 }

async function put(service: TestService, name: string, policy: object): Promise<void> {
  const { status, body } = await service.call('PUT', `/v1/policies/${name}`, policy)
  if (status !== 201) throw new Error(JSON.stringify(body))
}

const PER_ADDRESS = {
  route: 'edge|remote_address',
  rules: { algorithm: 'fixed-window', limit: 5, window: '1m', anchor: 'clock', name: 'per-address' },
}

const BYTES = {
  route: 'edge|user',
  rules: { algorithm: 'fixed-window', limit: 100, window: '1h', anchor: 'clock', countDenied: true, name: 'bytes' },
}

/** Repeats until Envoy has connected to the service: before that, requests pass without a limit. */
async function limited(get: Get): Promise<void> {
  await until('a limit through Envoy', async () => (await get()).headers.has('ratelimit'))
}

test.skipIf(findEnvoy() === undefined)('Envoy asks over TLS, with a client certificate and without a key', TIME, async () => {
  const own = certificate('DNS:sluice.example')
  const { ca, cert, key } = clientCertificate()
  const config = join(temporaryFolder(), 'sluice.yaml')
  writeFileSync(config, stringify({ policies: [{ name: 'per-address', ...PER_ADDRESS }] }))
  const flags = { rls: '127.0.0.1:0', tlsCert: own.cert, tlsKey: own.key, rlsClientCa: ca, config }
  const service = await startService({ flags })
  const rlsPort = Number(new URL(rlsAddress(service)).port)
  const files = [
    ['/etc/envoy/client.pem', cert],
    ['/etc/envoy/client-key.pem', key],
    ['/etc/envoy/ca.pem', own.cert],
  ]
  const tls = files.reduce((text, [from, to]) => withText(text, from, to), configurationOfGuide('envoy-tls'))
  // The cluster is the last part of the configuration.
  const ofCluster = tls.replace(/^(?=.)/gm, '      ')
  const get = await startEnvoy({ rlsPort, key: 'no key', change: (configuration) => configuration + ofCluster })
  await limited(get)
  expect((await get()).headers.get('ratelimit-policy')).toBe('"per-address";q=5;w=60')
})

test.skipIf(findEnvoy() === undefined)('Envoy asks through a socket file', TIME, async () => {
  const path = join(temporaryFolder(), 'rls.sock')
  const service = await startService({ flags: { rls: `unix:${path}` } })
  await put(service, 'per-address', PER_ADDRESS)
  const address = 'socket_address: { address: 127.0.0.1, port_value: 1 }'
  const change = (configuration: string): string => withText(configuration, address, `pipe: { path: ${path} }`)
  await limited(await startEnvoy({ rlsPort: 1, key: service.key, change }))
})

test.skipIf(findEnvoy() === undefined)(
  'Envoy enforces limits, and its clients see the fields and the problem',
  TIME,
  async () => {
    const service = await startService({ flags: { rls: '127.0.0.1:0' } })
    await put(service, 'per-address', PER_ADDRESS)
    await put(service, 'bytes', BYTES)
    const rlsPort = Number(new URL(rlsAddress(service)).port)
    const get = await startEnvoy({ rlsPort, key: service.key })
    await limited(get)
    await service.call('POST', '/v1/reset', { client_id: '127.0.0.1', route: 'edge|remote_address' })

    const first = await get({ 'x-user': 'ada' })
    expect(first).toMatchObject({ status: 200, body: 'hello from the application' })
    expect(first.headers.get('ratelimit')).toBe('"per-address";r=4;t=41')
    expect(first.headers.get('ratelimit-policy')).toBe('"per-address";q=5;w=60')
    for (let i = 0; i < 4; i++) expect(await get({ 'x-user': 'ada' })).toMatchObject({ status: 200 })

    const denied = await get()
    expect(denied.status).toBe(429)
    expect(denied.headers.get('x-envoy-ratelimited')).toBe('true')
    expect(denied.headers.get('retry-after')).toBe('41')
    expect(denied.headers.get('ratelimit')).toBe('"per-address";r=0;t=41')
    expect(denied.headers.get('content-type')).toBe('application/problem+json')
    expect(JSON.parse(denied.body)).toMatchObject({ title: 'Quota Exceeded', status: 429 })

    // Each of the five responses of 26 bytes was charged when its stream had ended, also above the limit of 100: 130 are used.
    const rls = new RlsClient(rlsAddress(service), { 'x-api-key': service.key })
    const look = async (refunded: number): Promise<number> => {
      const descriptor = { entries: entriesOf({ user: 'ada' }), hits_addend: { value: refunded }, is_negative_hits: true }
      return (await rls.ask({ domain: 'edge', descriptors: [descriptor] })).overall_code
    }
    await until('the charge of the bytes', async () => (await look(0)) === OVER_LIMIT)
    expect(await look(29)).toBe(OVER_LIMIT)
    expect(await look(1)).toBe(OK)
  },
)

interface Patch {
  readonly applyTo: string
  readonly patch: { readonly operation: string; readonly value: Readonly<Record<string, unknown>> }
}

/** Applies the patches of the guide for Istio to the configuration of the guide for Envoy, as Istio does to that of its gateways. */
function patchedAsIstio(configuration: string, key: string): string {
  const guide = readFileSync(new URL('../../../docs/guides/envoy.md', import.meta.url), 'utf8')
  const [, text] = /```yaml istio\n([\s\S]*?)```/.exec(guide) ?? []
  const { configPatches } = parse(text.replace('YOUR_KEY', key).replace('0.1s', '5s')).spec as { configPatches: readonly Patch[] }
  const [filter, host] = ['HTTP_FILTER', 'VIRTUAL_HOST'].map((wanted) =>
    configPatches.find(({ applyTo }) => applyTo === wanted),
  ) as [Patch, Patch]
  expect([filter.patch.operation, host.patch.operation]).toEqual(['INSERT_BEFORE', 'MERGE'])
  const cluster = /outbound\|8081\|\|[a-z.]+/.exec(text)?.[0]
  const envoy = parse(configuration)
  const { http_filters, route_config } = envoy.static_resources.listeners[0].filter_chains[0].filters[0].typed_config
  const [virtualHost] = route_config.virtual_hosts
  http_filters[0] = filter.patch.value
  Object.assign(virtualHost, host.patch.value)
  delete virtualHost.routes[0].typed_per_filter_config
  for (const each of envoy.static_resources.clusters) {
    if (each.name === 'sluice')
      Object.assign(each, { name: cluster, load_assignment: { ...each.load_assignment, cluster_name: cluster } })
  }
  return stringify(envoy)
}

test.skipIf(findEnvoy() === undefined)('the patches of the guide for Istio give a real Envoy the same limits', TIME, async () => {
  const service = await startService({ flags: { rls: '127.0.0.1:0' } })
  await put(service, 'per-address', PER_ADDRESS)
  await put(service, 'per-user', { route: 'edge|user', rules: '2/minute' })
  const rlsPort = Number(new URL(rlsAddress(service)).port)
  const get = await startEnvoy({
    rlsPort,
    key: service.key,
    change: (configuration) => patchedAsIstio(configuration, service.key),
  })
  await limited(get)
  await service.call('POST', '/v1/reset', { client_id: '127.0.0.1', route: 'edge|remote_address' })
  const statuses: number[] = []
  for (let i = 0; i < 3; i++) statuses.push((await get({ 'x-user': 'ada' })).status)
  for (let i = 0; i < 3; i++) statuses.push((await get()).status)
  expect(statuses).toEqual([200, 200, 429, 200, 200, 429])
})
