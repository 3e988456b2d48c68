// Health checking of gRPC. The whole server and the service `ratelimit` have the state of the service.
// Invariant: a service that starts or drains is NOT_SERVING. The number of watchers is bounded.

import { type ServerUnaryCall, type ServerWritableStream, type sendUnaryData, status } from '@grpc/grpc-js'
import type { ServiceStatus } from '../../service.ts'
import { SERVICES } from './protocol.ts'

const SERVING_STATUS = { SERVING: 1, NOT_SERVING: 2, SERVICE_UNKNOWN: 3 } as const

/** Names that health is known of. The reference server is asked for `ratelimit`. */
const KNOWN: readonly string[] = ['', 'ratelimit', SERVICES.rateLimit]

const MOST_WATCHERS = 1000

/** Time between two looks at the state, for watchers. The state also changes without the door: when the service becomes ready. */
const LOOK_EVERY_MS = 250

interface Question {
  readonly service: string
}

interface Answer {
  readonly status: number
}

type Watcher = ServerWritableStream<Question, Answer>

export class Health {
  readonly #status: ServiceStatus
  readonly #most: number
  /** Watchers, and true for those of a known name. */
  readonly #watchers = new Map<Watcher, boolean>()
  #told: number
  #timer: NodeJS.Timeout | undefined

  constructor(serviceStatus: ServiceStatus, mostWatchers = MOST_WATCHERS) {
    this.#status = serviceStatus
    this.#most = mostWatchers
    this.#told = this.#current()
  }

  readonly handlers = {
    Check: (call: ServerUnaryCall<Question, Answer>, callback: sendUnaryData<Answer>): void => {
      const { service } = call.request
      if (KNOWN.includes(service)) callback(null, { status: this.#current() })
      else callback({ code: status.NOT_FOUND, details: 'no service has this name' })
    },
    Watch: (call: Watcher): void => {
      if (this.#watchers.size >= this.#most) {
        call.emit('error', { code: status.RESOURCE_EXHAUSTED, details: 'too many callers watch already' })
        return
      }
      const isKnown = KNOWN.includes(call.request.service)
      this.tell()
      call.write({ status: isKnown ? this.#told : SERVING_STATUS.SERVICE_UNKNOWN })
      this.#watchers.set(call, isKnown)
      call.on('cancelled', () => this.#forget(call))
      this.#timer ??= setInterval(() => this.tell(), LOOK_EVERY_MS).unref()
    },
  }

  /** Tells watchers of a change. */
  tell(): void {
    const current = this.#current()
    if (current === this.#told) return
    this.#told = current
    for (const [watcher, isKnown] of this.#watchers) if (isKnown) watcher.write({ status: current })
  }

  /** Ends the streams of all watchers, so that they do not delay a stop. */
  close(): void {
    for (const watcher of this.#watchers.keys()) watcher.end()
    this.#watchers.clear()
    clearInterval(this.#timer)
  }

  #forget(call: Watcher): void {
    this.#watchers.delete(call)
    if (this.#watchers.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #current(): number {
    return this.#status.state === 'ready' ? SERVING_STATUS.SERVING : SERVING_STATUS.NOT_SERVING
  }
}
