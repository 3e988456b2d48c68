// The listeners of a service: addresses, sockets and certificates.

import { X509Certificate } from 'node:crypto'
import type { Server as TlsServer } from 'node:https'
import { type ListenAddress, showListen } from '../../config/addresses.ts'
import type { Config } from '../../config/config.ts'
import { readTlsFiles, type TlsFiles } from '../../config/tls-files.ts'
import type { Logger } from '../../log/logger.ts'
import type { Service } from '../../service.ts'
import { type BuiltApp, buildApp, type Plane } from './app.ts'
import type { App } from './plumbing/route-options.ts'
import { removeStaleSocket } from './stale-socket.ts'

export interface Listener {
  readonly built: BuiltApp
  /** For example `http://127.0.0.1:8080` or `unix:/run/sluice.sock`. */
  readonly address: string
}

/** Opens the listeners: one for everything, or one for checks and one for administration. If one fails, none stays open. */
export async function listen(config: Config, service: Service, tls: TlsFiles | undefined): Promise<readonly Listener[]> {
  const { listen: main, adminListen } = config
  const planned: readonly (readonly [ListenAddress, readonly Plane[]])[] =
    adminListen === undefined
      ? [[main, ['deciding', 'administration']]]
      : [
          [main, ['deciding']],
          [adminListen, ['administration']],
        ]
  const listeners: Listener[] = []
  try {
    for (const [address, planes] of planned) {
      const built = buildApp({ service, planes, tls, fastChecks: config.fastChecks })
      const scheme = tls === undefined ? 'http' : 'https'
      const opened = open(built.app, address, scheme).catch((error: unknown) => {
        throw isTaken(error) ? takenAddress(error, address, address === main ? '--listen' : '--admin-listen') : error
      })
      listeners.push({ built, address: await opened })
    }
  } catch (error) {
    await Promise.all(listeners.map(({ built }) => built.close({ delayMs: 0, withinMs: 0 })))
    throw error
  }
  return listeners
}

function isTaken(error: unknown): error is NodeJS.ErrnoException {
  return (error as NodeJS.ErrnoException).code === 'EADDRINUSE'
}

/** Keeps `code` and `syscall`, so that the command prints only the message, as for any error of the operating system. */
function takenAddress({ code, syscall }: NodeJS.ErrnoException, address: ListenAddress, flag: string): Error {
  const message = `${showListen(address)} is in use by another process: choose another with ${flag}`
  return Object.assign(new Error(message), { code, syscall })
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

/** Uses the certificate for new connections; open connections keep theirs. Returns the error if it cannot be used. */
export async function reloadTls(config: Config, listeners: readonly Listener[], logger: Logger): Promise<Error | undefined> {
  try {
    const tls = await readTlsFiles(config)
    if (tls === undefined) return undefined
    const { subject, validTo } = new X509Certificate(tls.cert)
    for (const { built } of listeners) (built.app.server as unknown as TlsServer).setSecureContext(tls)
    logger.info({ certificate: config.tlsCert, subject, validTo }, 'the certificate was reloaded')
    return undefined
  } catch (error) {
    logger.error({ err: error, certificate: config.tlsCert }, 'the certificate cannot be used: the previous one stays in use')
    return error as Error
  }
}
