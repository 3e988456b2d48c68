// One header of a request, for what every check runs: Node makes an object of all headers the first time that `headers` is read, and
// that takes longer than to decide.

import type { IncomingMessage } from 'node:http'

/** The first of that name, which is given in lower case. */
export function requestHeader({ rawHeaders }: IncomingMessage, name: string): string | undefined {
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const header = rawHeaders[i]
    if (header.length === name.length && header.toLowerCase() === name) return rawHeaders[i + 1]
  }
  return undefined
}
