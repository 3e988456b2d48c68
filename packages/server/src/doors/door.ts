// A door: one protocol of the service, listening on one address.
// Invariant: a door knows its protocol and the service. No door knows another.

import type { Config } from '../config/config.ts'
import type { TlsFiles } from '../config/tls-files.ts'
import type { Service } from '../service.ts'

export interface Door {
  /** For example `http://127.0.0.1:8080` or `unix:/run/sluice.sock`. */
  readonly address: string
  /** Uses a new certificate for new connections. Open connections keep theirs. */
  useTls(tls: TlsFiles): void
  /** From this call on, clients are asked to leave. Requests are still answered. */
  beginDrain(): void
  /** Stops listening, answers open requests for at most `withinMs`, then closes all connections. */
  close(options: CloseOptions): Promise<void>
}

export interface CloseOptions {
  /** Time that passed since `beginDrain`. */
  readonly delayMs: number
  readonly withinMs: number
}

export interface DoorOptions {
  readonly config: Config
  readonly service: Service
  /** Undefined if the service speaks without TLS. */
  readonly tls: TlsFiles | undefined
}

/** Opens the doors of one protocol. Resolves to none if the protocol is off. If one door fails, none stays open. */
export type OpenDoors = (options: DoorOptions) => Promise<readonly Door[]>

/** Closes doors at once, for a start that failed. */
export async function closeDoors(doors: readonly Door[]): Promise<void> {
  await Promise.all(doors.map((door) => door.close({ delayMs: 0, withinMs: 0 })))
}
