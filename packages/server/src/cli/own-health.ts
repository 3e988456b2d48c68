// Asks the service of this configuration, at its own address, whether it is ready.
// Invariant: no key is sent. The certificate is not verified, because it is issued for the public name and not for loopback.

import { createClient, type Health } from 'sluice-client/node'
import { type ListenAddress, showListen } from '../config/addresses.ts'
import { type ConfigSources, loadConfig } from '../config/config.ts'
import { UsageError } from './exit-codes.ts'

/** Wildcard addresses, and the loopback address to ask instead. */
const LOOPBACKS: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' }

export async function ownHealth(sources: ConfigSources, timeoutMs: number): Promise<Health> {
  const { config } = await loadConfig({ ...sources, withoutPolicies: true })
  const isTls = config.tlsCert !== undefined
  const url = ownUrl(config.listen, isTls)
  const client = createClient({
    url,
    failure: { timeoutMs },
    retry: false,
    maxConnections: 1,
    tls: isTls ? { verify: false } : undefined,
  })
  try {
    return await client.health()
  } finally {
    client.close()
  }
}

function ownUrl(listen: ListenAddress, isTls: boolean): string {
  if ('socket' in listen) return showListen(listen)
  const { host, port } = listen
  if (port === 0) throw new UsageError('the service listens on a port that it chooses at each start: name its address with --url')
  return `${isTls ? 'https' : 'http'}://${showListen({ host: LOOPBACKS[host] ?? host, port })}`
}
