// A service, an application and a real Envoy with the configuration of the guide, for tests.

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import { configurationOfGuide, EnvoyServer } from '../../../test/servers/envoy-server.mjs'
import { freePort } from '../../../test/servers/redis-server.mjs'

export interface ThroughEnvoyOptions {
  /** The port of the RLS door. */
  readonly rlsPort: number
  readonly key: string
  /** Changes the configuration of the guide. */
  readonly change?: (configuration: string) => string
}

export interface Answered {
  readonly status: number
  readonly headers: Headers
  readonly body: string
}

export type Get = (headers?: Record<string, string>) => Promise<Answered>

/** Starts the application and Envoy. Both stop when the test has finished. Returns a function that sends a request through Envoy. */
export async function startEnvoy({ rlsPort, key, change = (same) => same }: ThroughEnvoyOptions): Promise<Get> {
  const application = createServer((_request, response) => response.end('hello from the application'))
  await new Promise<void>((resolve) => application.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    application.closeAllConnections()
    application.close()
  })
  const envoy = new EnvoyServer(await freePort())
  onTestFinished(() => envoy.stop())
  const { port } = application.address() as AddressInfo
  const changes = [
    ['port_value: 10000', `port_value: ${envoy.port}`],
    ['port_value: 8000', `port_value: ${port}`],
    ['port_value: 8081', `port_value: ${rlsPort}`],
    ['YOUR_KEY', key],
    // The machine may be busy.
    ['timeout: 0.1s', 'timeout: 5s'],
  ]
  const configuration = changes.reduce((text, [from, to]) => withText(text, from, to), configurationOfGuide())
  await envoy.start(change(configuration))
  return async (headers = {}) => {
    const response = await fetch(`${envoy.address}/`, { headers })
    return { status: response.status, headers: response.headers, body: await response.text() }
  }
}

/** Returns the configuration with another text in the place of one that it has once. */
export function withText(configuration: string, text: string, other: string): string {
  const found = configuration.split(text)
  if (found.length !== 2) throw new Error(`the configuration has ${text} ${found.length - 1} times`)
  return found.join(other)
}
