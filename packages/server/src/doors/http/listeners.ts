// The HTTP doors: addresses and sockets.

import type { Server as TlsServer } from 'node:https'
import { type ListenAddress, showListen } from '../../config/addresses.ts'
import { addressInUse } from '../address-in-use.ts'
import { closeDoors, type Door, type DoorOptions } from '../door.ts'
import { removeStaleSocket } from '../stale-socket.ts'
import { buildApp, type Plane } from './app.ts'
import type { App } from './plumbing/route-options.ts'

/** Opens one door for everything, or one for checks and one for administration. If one fails, none stays open. */
export async function openHttp({ config, service, tls }: DoorOptions): Promise<readonly Door[]> {
  const { listen: main, adminListen } = config
  const planned: readonly (readonly [ListenAddress, readonly Plane[]])[] =
    adminListen === undefined
      ? [[main, ['deciding', 'administration']]]
      : [
          [main, ['deciding']],
          [adminListen, ['administration']],
        ]
  const doors: Door[] = []
  try {
    for (const [address, planes] of planned) {
      const { app, beginDrain, close } = buildApp({ service, planes, tls, fastChecks: config.fastChecks })
      const scheme = tls === undefined ? 'http' : 'https'
      const opened = open(app, address, scheme).catch((error: unknown) => {
        throw addressInUse(error, address, address === main ? '--listen' : '--admin-listen')
      })
      doors.push({
        address: await opened,
        useTls: (renewed) => (app.server as unknown as TlsServer).setSecureContext(renewed),
        beginDrain,
        close,
      })
    }
  } catch (error) {
    await closeDoors(doors)
    throw error
  }
  return doors
}

async function open(app: App, address: ListenAddress, scheme: string): Promise<string> {
  if ('socket' in address) {
    await removeStaleSocket(address.socket)
    await app.listen({ path: address.socket })
    return showListen(address)
  }
  await app.listen(address)
  const bound = app.server.address() as { port: number }
  return `${scheme}://${showListen({ host: address.host, port: bound.port })}`
}
