// The session of one connection: its protocol, its name, and the API key that it has presented.
// Invariant: a key is verified again before each run of commands, so a revoked or expired key does nothing from that moment on.

import type { CheckRun, Throttle } from '../../decide/throttle.ts'
import { ANYBODY, type ApiKey, mayUse } from '../../keys/api-key.ts'
import { TOO_MANY_FAILURES } from '../../keys/failed-keys.ts'
import type { Service } from '../../service.ts'
import { RespError } from './resp-error.ts'

export const NOAUTH = 'NOAUTH Authentication required.'
export const LOADING = 'LOADING the service is starting: try again soon'

/** A limit and the units to spend on it. */
export interface Throttling {
  readonly throttle: Throttle
  readonly quantity: number
}

export class Session {
  readonly service: Service
  readonly id: number
  readonly #address: string
  protocol: 2 | 3 = 2
  /** The name that the client has given itself. */
  name = ''
  /** True once the connection is to be closed, after the replies that are due. */
  isLeaving = false
  /** The key of the session; undefined if it needs one and has none. */
  key: ApiKey | undefined
  /** True if the key has the scope `check`. */
  mayCheck = false
  /** The commands that arrived together and run now. */
  run: CheckRun
  /** The limit of the last CL.THROTTLE of this run; undefined if it could not be read. */
  throttling: Throttling | undefined
  #presented: string | undefined

  constructor(service: Service, id: number, address: string) {
    this.service = service
    this.id = id
    this.#address = address
    this.run = service.decider.throttles.beginRun()
    this.#useKey(service.keysRequired ? undefined : ANYBODY)
  }

  /** Begins a run of commands that arrived together. */
  begin(): void {
    this.run = this.service.decider.throttles.beginRun()
    if (this.#presented !== undefined) this.#useKey(this.service.keys.verify(this.#presented))
  }

  /** Ends the run. */
  end(): void {
    this.throttling = undefined
    this.service.decider.throttles.endRun(this.run)
  }

  /** Uses an API key from now on. Throws unless it is valid. A wrong key leaves the session as it was. */
  authenticate(presented: string): void {
    const { keysRequired, keys, failedKeys } = this.service
    if (!keysRequired) return
    this.checkReady()
    const key = keys.verify(presented)
    if (key === undefined) {
      if (failedKeys.add(this.#address) === 0)
        throw new RespError('WRONGPASS invalid username-password pair or user is disabled.')
      this.isLeaving = true
      throw new RespError(`ERR ${TOO_MANY_FAILURES}`)
    }
    this.#presented = presented
    this.#useKey(key)
  }

  /** Throws while policies and keys are not loaded. */
  checkReady(): void {
    if (this.service.status.state === 'starting') throw new RespError(LOADING)
  }

  /** Forgets everything that the client has said. */
  reset(): void {
    this.protocol = 2
    this.name = ''
    this.#presented = undefined
    this.#useKey(this.service.keysRequired ? undefined : ANYBODY)
  }

  #useKey(key: ApiKey | undefined): void {
    this.key = key
    this.mayCheck = key !== undefined && mayUse(key, 'check')
  }
}
