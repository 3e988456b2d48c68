// Requests by node:http, over pooled connections and sockets in the file system. Against a bare server, the same request takes a fifth of
// the time and of the CPU of Node's fetch.

import { type ClientRequest, Agent as HttpAgent, request as requestHttp } from 'node:http'
import { Agent as HttpsAgent, request as requestHttps } from 'node:https'
import type { Socket } from 'node:net'
import {
  type Connection,
  type HttpAnswer,
  type HttpCall,
  MOST_ANSWER_CHARACTERS,
  NotSent,
  prefixOf,
  type SentCall,
  sharedHeaders,
} from './connection.ts'

/** TLS, also for an `http:` or `unix:` address. */
export interface TlsOptions {
  /** Certificates of the authorities to trust, in PEM. Default: those of Node. */
  readonly ca?: string
  /** False to trust any certificate. Only for a service on this machine. Default: true. */
  readonly verify?: boolean
}

export interface NodeConnectionOptions {
  /** `http://…`, `https://…` or `unix:/path/of/the/socket`. */
  readonly url: string
  readonly apiKey: string | undefined
  readonly maxConnections: number
  readonly tls: TlsOptions | undefined
}

export class NodeConnection implements Connection {
  readonly #send: typeof requestHttp
  readonly #agent: HttpAgent
  readonly #target: { readonly socketPath: string } | { readonly hostname: string; readonly port: string | number }
  readonly #prefix: string
  readonly #headers: Readonly<Record<string, string>>

  constructor({ url, apiKey, maxConnections, tls }: NodeConnectionOptions) {
    const { protocol, target, prefix } = readUrl(url)
    const pool = { keepAlive: true, maxSockets: maxConnections }
    const isTls = tls !== undefined || protocol === 'https:'
    const { ca, verify = true } = tls ?? {}
    this.#send = isTls ? requestHttps : requestHttp
    this.#agent = isTls ? new HttpsAgent({ ...pool, rejectUnauthorized: verify, ...(ca && { ca }) }) : new HttpAgent(pool)
    this.#target = target
    this.#prefix = prefix
    this.#headers = sharedHeaders(apiKey)
  }

  send(call: HttpCall): SentCall {
    return new NodeCall(this.#start(call), call.body)
  }

  close(): void {
    this.#agent.destroy()
  }

  #start({ method, path, body, headers: own }: HttpCall): ClientRequest {
    const headers: Record<string, string | number> = { ...this.#headers, ...own }
    if (body !== undefined) {
      headers['content-type'] = 'application/json'
      headers['content-length'] = Buffer.byteLength(body)
    }
    return this.#send({ ...this.#target, method, path: this.#prefix + path, headers, agent: this.#agent })
  }
}

class NodeCall implements SentCall {
  readonly answer: Promise<HttpAnswer>
  mayBeSent = false
  readonly #request: ClientRequest

  constructor(request: ClientRequest, body: string | undefined) {
    this.#request = request
    request.on('socket', (socket) => this.#onSocket(socket))
    this.answer = new Promise((resolve, reject) => {
      request.on('error', (error: NodeJS.ErrnoException) => reject(this.mayBeSent ? error : new NotSent(error)))
      request.on('response', (response) => {
        let text = ''
        response.setEncoding('utf8')
        response.on('data', (piece: string) => {
          text += piece
          if (text.length > MOST_ANSWER_CHARACTERS) request.destroy(new Error('the answer is too long'))
        })
        response.on('end', () => resolve({ status: response.statusCode as number, body: text }))
        response.on('error', reject)
      })
    })
    request.end(body)
  }

  abort(): void {
    this.#request.destroy()
  }

  /** A request is sent as soon as its socket is connected. */
  #onSocket(socket: Socket & { readonly encrypted?: boolean }): void {
    if (!socket.connecting) this.mayBeSent = true
    else {
      socket.once(socket.encrypted ? 'secureConnect' : 'connect', () => {
        this.mayBeSent = true
      })
    }
  }
}

function readUrl(url: string) {
  if (url.startsWith('unix:')) return { protocol: 'http:', target: { socketPath: url.slice('unix:'.length) }, prefix: '' }
  const parts = new URL(url)
  const target = { hostname: parts.hostname.replace(/^\[(.*)\]$/, '$1'), port: parts.port }
  return { protocol: parts.protocol, target, prefix: prefixOf(parts) }
}
