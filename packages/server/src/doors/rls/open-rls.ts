// The RLS door: Envoy's rate limit service, version 3, over gRPC.

import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import { type ListenAddress, showListen } from '../../config/addresses.ts'
import type { TlsFiles } from '../../config/tls-files.ts'
import { messageOf, ServerError } from '../../errors.ts'
import { addressInUse } from '../address-in-use.ts'
import type { Door, DoorOptions } from '../door.ts'
import { type ListenerTls, RlsListener } from './rls-listener.ts'

/** Opens the door, if it has an address. */
export async function openRls({ config, service, tls }: DoorOptions): Promise<readonly Door[]> {
  const { rls: address, rlsClientCa, rlsAllOrNothing: allOrNothing, rlsConnectionAge: connectionAgeMs } = config
  if (address === undefined) return []
  const withClients = (files: TlsFiles): ListenerTls => ({ ...files, ca: readClientCa(rlsClientCa) })
  const listenerTls = tls && withClients(tls)
  // The libraries of gRPC take 100 ms to load, so only a service with this door loads them.
  const { RlsServer } = await import('./rls-server.ts')
  const hasClientCertificates = listenerTls?.ca !== undefined
  const server = new RlsServer({ service, allOrNothing, hasClientCertificates, connectionAgeMs })
  const listener = new RlsListener(listenerTls, server.take)
  const port = await listener.listen(address).catch(async (error: unknown) => {
    await server.close(0)
    throw addressInUse(error, address, '--rls')
  })
  const bound = shown(address, port, tls === undefined ? 'grpc' : 'grpcs')
  service.logger.info({ address: bound }, 'listening for Envoy')
  return [
    {
      address: bound,
      useTls: (renewed) => listener.useTls(withClients(renewed)),
      beginDrain: () => server.beginDrain(),
      close: async ({ withinMs }) => {
        listener.stop()
        await server.close(withinMs)
        listener.destroy()
      },
    },
  ]
}

function shown(address: ListenAddress, port: number | undefined, scheme: string): string {
  return 'socket' in address
    ? showListen(address)
    : `${scheme}://${showListen({ host: address.host, port: port ?? address.port })}`
}

/** Throws ERR_CONFIG if the file cannot be used. */
function readClientCa(path: string | undefined): Buffer | undefined {
  if (path === undefined) return undefined
  try {
    const ca = readFileSync(path)
    createSecureContext({ ca })
    return ca
  } catch (error) {
    throw new ServerError('ERR_CONFIG', `rlsClientCa ${path} cannot be used: ${messageOf(error)}`)
  }
}
