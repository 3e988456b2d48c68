// A client that writes requests as bytes, so that several can be on one connection before the first answer, and reads the answers.

import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

export interface Sent {
  readonly method?: string
  readonly path?: string
  readonly headers?: Readonly<Record<string, string>>
}

export interface Reply {
  readonly status: number
  /** Names in lower case. A field that came twice is joined by a comma. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** One connection of HTTP/1.1. */
export class RawConnection {
  readonly #socket: Socket
  #bytes = Buffer.alloc(0)
  #wake = (): void => {}

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.on('data', (bytes) => {
      this.#bytes = Buffer.concat([this.#bytes, bytes])
      this.#wake()
    })
    socket.on('error', () => {})
    socket.on('close', () => this.#wake())
  }

  static async open(port: number): Promise<RawConnection> {
    const socket = connect(port, '127.0.0.1')
    await once(socket, 'connect')
    return new RawConnection(socket)
  }

  /** Writes all requests at once, and reads as many answers. */
  async send(...requests: readonly Sent[]): Promise<Reply[]> {
    this.write(...requests)
    const replies: Reply[] = []
    for (const { method } of requests) replies.push(await this.#read(method === 'HEAD'))
    return replies
  }

  write(...requests: readonly Sent[]): void {
    this.#socket.write(requests.map(written).join(''))
  }

  /** Waits until these words have arrived. They stay unread. */
  async receives(text: string): Promise<void> {
    while (!this.#bytes.includes(text)) await new Promise<void>((resolve) => (this.#wake = resolve))
  }

  /** Closes the connection at once. */
  abort(): void {
    this.#socket.resetAndDestroy()
  }

  close(): void {
    this.#socket.destroy()
  }

  async #read(hasNoBody: boolean): Promise<Reply> {
    const head = await this.#take(() => {
      const end = this.#bytes.indexOf('\r\n\r\n')
      return end < 0 ? -1 : end + 4
    })
    const [statusLine, ...lines] = head.trimEnd().split('\r\n')
    const headers: Record<string, string> = {}
    for (const line of lines) {
      const name = line.slice(0, line.indexOf(':')).toLowerCase()
      const value = line.slice(line.indexOf(':') + 1).trim()
      headers[name] = name in headers ? `${headers[name]}, ${value}` : value
    }
    const status = Number(statusLine.split(' ')[1])
    if (hasNoBody || status === 204 || status === 304) return { status, headers, body: '' }
    if (headers['transfer-encoding'] === 'chunked') return { status, headers, body: await this.#readChunks() }
    return { status, headers, body: await this.#take(() => Number(headers['content-length'])) }
  }

  async #readChunks(): Promise<string> {
    let body = ''
    for (;;) {
      const size = Number.parseInt(await this.#take(() => this.#bytes.indexOf('\r\n') + 2 || -1), 16)
      body += (await this.#take(() => size + 2)).slice(0, -2)
      if (size === 0) return body
    }
  }

  /** Takes the first bytes once they have arrived. `count` returns their number; a negative number if it is not known yet. */
  async #take(count: () => number): Promise<string> {
    for (;;) {
      const wanted = count()
      if (wanted >= 0 && this.#bytes.length >= wanted) {
        const taken = this.#bytes.subarray(0, wanted).toString('utf8')
        this.#bytes = this.#bytes.subarray(wanted)
        return taken
      }
      if (this.#socket.destroyed) throw new Error(`the connection ended; unread: ${JSON.stringify(this.#bytes.toString())}`)
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }
}

/** One request on a connection of its own. */
export async function ask(port: number, request: Sent = {}): Promise<Reply> {
  const connection = await RawConnection.open(port)
  try {
    const [reply] = await connection.send(request)
    return reply
  } finally {
    connection.close()
  }
}

function written({ method = 'GET', path = '/', headers = {} }: Sent): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return `${method} ${path} HTTP/1.1\r\nHost: localhost\r\n${lines.join('')}\r\n`
}
