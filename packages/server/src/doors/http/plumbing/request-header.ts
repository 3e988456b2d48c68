// Reads one header of a request. The first access to Node's `headers` builds an object of all headers, which takes longer than a
// decision, so checks use this instead.

import type { IncomingMessage } from 'node:http'

/** Returns the first header with this name. `name` must be lower case. */
export function requestHeader({ rawHeaders }: IncomingMessage, name: string): string | undefined {
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const header = rawHeaders[i]
    if (header.length === name.length && header.toLowerCase() === name) return rawHeaders[i + 1]
  }
  return undefined
}
