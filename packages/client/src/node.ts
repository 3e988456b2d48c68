// The door `sluice-client/node`: the same client over node:http, with pooled connections and sockets in the file system.

import { type Client, clientOver } from './client.ts'
import { holdWhole, readOptions, refuse, type SharedOptions } from './client-options.ts'
import { NodeConnection, type TlsOptions } from './transport/node-connection.ts'

export * from './names.ts'
export type { TlsOptions } from './transport/node-connection.ts'

export interface ClientOptions extends SharedOptions {
  /** `http://…`, `https://…`, or `unix:` and the path of a socket. Default: http://127.0.0.1:8080. */
  readonly url?: string | undefined
  /** Maximum number of connections; further calls wait. Default: 32. */
  readonly maxConnections?: number
  /** TLS, also for an `http:` or `unix:` address. */
  readonly tls?: TlsOptions | undefined
}

/** Creates a client. Throws a ClientError if an option is not valid. Connects at the first call. */
export function createClient(options: ClientOptions = {}): Client {
  const checked = readOptions(options, ['maxConnections', 'tls'], true)
  const { maxConnections = 32, tls } = options
  holdWhole('maxConnections', maxConnections, Number.MAX_SAFE_INTEGER)
  if (tls !== undefined && (typeof tls !== 'object' || tls === null)) refuse('tls must be an object')
  const connection = new NodeConnection({ url: checked.url, apiKey: checked.apiKey, maxConnections, tls })
  return clientOver(connection, checked, (callback) => void setImmediate(callback))
}
