// The door `sluice-client`: a client for a running service, for every runtime with fetch.

import { type Client, clientOver } from './client.ts'
import { readOptions, refuse, type SharedOptions } from './client-options.ts'
import { type Fetch, FetchConnection } from './transport/fetch-connection.ts'

export * from './names.ts'
export type { Fetch, FetchInit, FetchResponse } from './transport/fetch-connection.ts'

export interface ClientOptions extends SharedOptions {
  /** Sends the requests, such as `(...args) => env.SLUICE.fetch(...args)` of a service binding. Default: the global fetch. */
  readonly fetch?: Fetch
}

/** Creates a client. Throws a ClientError if an option is not valid. Connects at the first call. */
export function createClient(options: ClientOptions = {}): Client {
  const checked = readOptions(options, ['fetch'], false)
  if (options.fetch !== undefined && typeof options.fetch !== 'function') refuse('fetch must be a function')
  return clientOver(new FetchConnection(checked.url, checked.apiKey, options.fetch), checked, afterThisCode)
}

/**
 * Calls back as soon as the code that runs now has ended. On Workers, code of other requests runs only after that, so the checks of one
 * request never travel in another one.
 */
function afterThisCode(callback: () => void): void {
  Promise.resolve().then(callback)
}
