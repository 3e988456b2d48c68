// A call whose events pass a guard. The ways of grpc-js to do this make a dozen functions for each call. Here the call is its own listener.
// Invariant: everything that the guard does not stop is passed on unchanged, in order.

import { type Metadata, ServerInterceptingCall, type ServerInterceptingCallInterface, type StatusObject } from '@grpc/grpc-js'

export type Listener = Parameters<ServerInterceptingCallInterface['start']>[0]
type Status = Parameters<ServerInterceptingCallInterface['sendStatus']>[0]

/** Decides which events of a call are passed on. */
export interface Guard {
  /** Returns the status that refuses the call; undefined if it is admitted. From then on, its request is incomplete. */
  begin(call: GuardedCall, metadata: Metadata): Pick<StatusObject, 'code' | 'details'> | undefined
  received(call: GuardedCall): void
  /** The request is complete, or its caller has gone. */
  end(call: GuardedCall): void
}

export class GuardedCall extends ServerInterceptingCall implements Listener {
  readonly path: string
  /** The sweep of the guard after which the call began. */
  readonly sinceSweep: number
  /** True if the caller sends any number of messages. */
  readonly hasStream: boolean
  readonly #call: ServerInterceptingCallInterface
  readonly #guard: Guard
  #listener: Listener | undefined
  #isRefused = false

  constructor(
    call: ServerInterceptingCallInterface,
    guard: Guard,
    { path, sinceSweep, hasStream }: Pick<GuardedCall, 'path' | 'sinceSweep' | 'hasStream'>,
  ) {
    super(call)
    this.#call = call
    this.#guard = guard
    this.path = path
    this.sinceSweep = sinceSweep
    this.hasStream = hasStream
  }

  override start(listener: Listener): void {
    this.#listener = listener
    this.#call.start(this)
  }

  onReceiveMetadata(metadata: Metadata): void {
    const refusal = this.#guard.begin(this, metadata)
    if (refusal === undefined) this.#listener?.onReceiveMetadata(metadata)
    else {
      // If the metadata is not passed on, nothing of the message is read.
      this.#isRefused = true
      this.#call.sendStatus(refusal)
    }
  }

  onReceiveMessage(message: unknown): void {
    if (this.#isRefused) return
    this.#guard.received(this)
    this.#listener?.onReceiveMessage(message)
  }

  onReceiveHalfClose(): void {
    if (this.#isRefused) return
    this.#guard.end(this)
    this.#listener?.onReceiveHalfClose()
  }

  onCancel(): void {
    this.#guard.end(this)
    this.#listener?.onCancel()
  }

  override sendMetadata(metadata: Metadata): void {
    this.#call.sendMetadata(metadata)
  }

  override sendMessage(message: unknown, callback: () => void): void {
    this.#call.sendMessage(message, callback)
  }

  override sendStatus(status: Status): void {
    this.#call.sendStatus(status)
  }
}
