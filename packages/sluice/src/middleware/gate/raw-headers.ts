// The headers of a request of node:http.

import type { RequestHeaders } from '../../http/peer-address.ts'
import type { NodeRequest } from './node-adapter.ts'

/**
 * The headers as they came: Node makes an object of all of them the first time that `headers` is read. Objects that stand in for
 * Node's request may have only that.
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
