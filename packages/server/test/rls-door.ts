// The RLS door alone, without the rest of a service. Tests make its sweeps.

import { pino } from 'pino'
import { onTestFinished } from 'vitest'
import type { ListenAddress } from '../src/config/addresses.ts'
import type { Decider } from '../src/decide/decider.ts'
import { type CallGuard, SWEEP_MS } from '../src/doors/rls/call-guard.ts'
import { RlsListener } from '../src/doors/rls/rls-listener.ts'
import { RlsServer, type RlsServerOptions } from '../src/doors/rls/rls-server.ts'
import type { Service } from '../src/service.ts'

export interface DoorOptions extends Pick<RlsServerOptions, 'mostIncomplete' | 'mostWatchers'> {
  readonly mostConnections?: number
  readonly connectionAgeMs?: number
  readonly address?: ListenAddress
  /** Decides every check. */
  readonly decide?: () => ReturnType<Decider['checkWritten']>
}

export interface TestDoor {
  readonly address: string
  readonly server: RlsServer
  readonly guard: CallGuard
  /** Makes as many sweeps as there are in this time. */
  readonly pass: (ms: number) => void
  readonly close: (withinMs: number) => Promise<void>
}

export async function startDoor(options: DoorOptions = {}): Promise<TestDoor> {
  const {
    mostConnections,
    connectionAgeMs = 24 * 3_600_000,
    decide,
    address = { host: '127.0.0.1', port: 0 },
    ...bounds
  } = options
  const service = {
    status: { state: 'ready' },
    keysRequired: false,
    logger: pino({ level: 'silent' }),
    decider: { checkWritten: decide },
  } as unknown as Service
  const server = new RlsServer({ service, allOrNothing: false, hasClientCertificates: false, connectionAgeMs, ...bounds })
  const listener = new RlsListener(undefined, server.take, mostConnections)
  const port = await listener.listen(address)
  const close = async (withinMs: number): Promise<void> => {
    listener.stop()
    await server.close(withinMs)
    listener.destroy()
  }
  onTestFinished(() => close(0))
  const { guard } = server
  const pass = (ms: number): void => {
    for (let i = 0; i < ms / SWEEP_MS; i++) {
      guard.sweep()
      server.connections.sweep()
    }
  }
  return { address: `grpc://127.0.0.1:${port}`, server, guard, pass, close }
}
