// The RESP door: address, certificate, start and stop.

import { once } from 'node:events'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises'
import { createServer as createTlsServer, Server as TlsServer } from 'node:tls'
import { type ListenAddress, showListen } from '../../config/addresses.ts'
import { addressInUse } from '../address-in-use.ts'
import type { CloseOptions, Door, DoorOptions } from '../door.ts'
import { removeStaleSocket } from '../stale-socket.ts'
import { HANDSHAKE_MS, MOST_CONNECTIONS } from './limits.ts'
import { RespServer } from './resp-server.ts'

/** Sockets beyond the bound of connections that get a refusal, or are in a handshake. */
const MORE_SOCKETS = 100

export async function openResp({ config: { resp: address }, service, tls }: DoorOptions): Promise<readonly Door[]> {
  if (address === undefined) return []
  const connections = new RespServer(service)
  const server =
    tls === undefined
      ? createServer(connections.serve)
      : createTlsServer({ ...tls, handshakeTimeout: HANDSHAKE_MS }, connections.serve).on('tlsClientError', () => {})
  server.maxConnections = MOST_CONNECTIONS + MORE_SOCKETS
  try {
    await listen(server, address)
  } catch (error) {
    await connections.leave()
    throw addressInUse(error, address, '--resp')
  }
  service.logger.info({ address: showBound(server, address) }, 'listening for clients of Redis')
  return [
    {
      address: showBound(server, address),
      useTls: (renewed) => {
        if (server instanceof TlsServer) server.setSecureContext(renewed)
      },
      // RESP has no message that asks a client to leave. Its connection is closed between two commands, and it connects again.
      beginDrain: () => {},
      close: (options) => close(server, connections, options),
    },
  ]
}

async function listen(server: Server, address: ListenAddress): Promise<void> {
  if ('socket' in address) await removeStaleSocket(address.socket)
  server.listen('socket' in address ? { path: address.socket } : { host: address.host, port: address.port })
  await once(server, 'listening')
}

function showBound(server: Server, address: ListenAddress): string {
  if ('socket' in address) return showListen(address)
  const scheme = server instanceof TlsServer ? 'rediss' : 'redis'
  return `${scheme}://${showListen({ host: address.host, port: (server.address() as AddressInfo).port })}`
}

async function close(server: Server, connections: RespServer, { withinMs }: CloseOptions): Promise<void> {
  server.close()
  // Commands that have already arrived are read and answered.
  await turn()
  await Promise.race([connections.leave(), pause(withinMs, undefined, { ref: false })])
  connections.destroy()
}
