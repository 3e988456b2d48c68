// The headers of a request of node:http.

import type { RequestHeaders } from '../../http/peer-address.ts'
import type { NodeRequest } from './node-adapter.ts'

/**
 * Reads headers from the raw list, because Node makes an object of all headers when `headers` is first read. Test doubles of
 * Node's request may have only `headers`.
 */
export function nodeHeaders(request: NodeRequest): RequestHeaders {
  const { rawHeaders } = request
  return rawHeaders === undefined || rawHeaders.length === 0 ? request.headers : new RawHeaders(rawHeaders)
}

class RawHeaders {
  readonly #raw: readonly string[]

  constructor(raw: readonly string[]) {
    this.#raw = raw
  }

  get(name: string): string | undefined {
    const raw = this.#raw
    let value: string | undefined
    for (let i = 0; i < raw.length; i += 2) {
      if (raw[i].length !== name.length || raw[i].toLowerCase() !== name) continue
      value = value === undefined ? raw[i + 1] : `${value}, ${raw[i + 1]}`
    }
    return value
  }
}
