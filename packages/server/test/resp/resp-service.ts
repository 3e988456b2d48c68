// A real service with its RESP door on a free port, and a bare connection to it.

import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import { startService, type TestService, type TestServiceOptions } from '../running-service.ts'

export interface RespService extends TestService {
  readonly port: number
  /** Opens a bare connection. It sends the admin key first, unless told otherwise. */
  open(options?: { readonly auth?: boolean }): Promise<Bare>
}

export async function startResp({ flags, ...options }: TestServiceOptions = {}): Promise<RespService> {
  const service = await startService({ ...options, flags: { resp: '127.0.0.1:0', ...flags } })
  const address = service.addresses.find((each) => each.startsWith('redis')) ?? 'redis://a-socket-file'
  const port = Number(new URL(address).port)
  const isOpen = flags?.keysRequired === 'false'
  const open = async ({ auth = !isOpen } = {}): Promise<Bare> => {
    const bare = await Bare.open(port)
    if (auth) await bare.ask(command('AUTH', service.key), '+OK\r\n')
    return bare
  }
  return Object.assign(service, { port, open })
}

/** Returns the bytes of a command, each character one byte. */
export function command(...args: (string | number)[]): string {
  return `*${args.length}\r\n${args.map((arg) => `$${String(arg).length}\r\n${arg}\r\n`).join('')}`
}

/** A connection without a client: text in, text out, each character one byte. */
export class Bare {
  readonly socket: Socket
  /** Everything received and not asked for yet. */
  received = ''
  isClosed = false
  #onChange: () => void = () => {}

  constructor(socket: Socket) {
    this.socket = socket
    socket.setEncoding('latin1')
    socket.on('data', (text) => {
      this.received += text
      this.#onChange()
    })
    socket.on('error', () => {})
    socket.on('close', () => {
      this.isClosed = true
      this.#onChange()
    })
    onTestFinished(() => {
      socket.destroy()
    })
  }

  static async open(port: number): Promise<Bare> {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    await once(socket, 'connect')
    return new Bare(socket)
  }

  send(text: string): void {
    this.socket.write(text, 'latin1')
  }

  /** Sends, and waits for exactly this answer. Throws if anything else comes, or if the connection closes first. */
  async ask(text: string, answer: string): Promise<void> {
    this.send(text)
    await this.expect(answer)
  }

  async expect(answer: string): Promise<void> {
    const got = await this.read(answer.length)
    if (got !== answer) throw new Error(`expected ${JSON.stringify(answer)}, got ${JSON.stringify(got)}`)
  }

  /** Waits for this many characters, or for the end of the connection. */
  async read(length: number): Promise<string> {
    await this.#until(() => this.received.length >= length)
    const got = this.received.slice(0, length)
    this.received = this.received.slice(length)
    return got
  }

  /** Sends, and returns all lines of the answer. */
  async lines(text: string, count: number): Promise<string[]> {
    this.send(text)
    await this.#until(() => this.received.split('\r\n').length > count)
    const lines = this.received.split('\r\n')
    this.received = lines.slice(count).join('\r\n')
    return lines.slice(0, count)
  }

  /** Waits for the end of the connection. Returns everything that came before it. */
  async end(): Promise<string> {
    await this.#until(() => false)
    return this.received
  }

  /** Waits for a condition on what was received, or for the end of the connection. */
  async #until(isDone: () => boolean): Promise<void> {
    while (!isDone() && !this.isClosed) {
      await new Promise<void>((resolve) => {
        this.#onChange = resolve
      })
    }
  }
}
