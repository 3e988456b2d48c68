// The measured servers, each in its own process: the service, in memory, without fast checks or on Redis, and the bare server.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { startRedis } from '../../../test/servers/redis-server.mjs'
import { NO_REST } from '../rounds/measure-in-turns.mjs'

/** @import { Readable } from 'node:stream' */
/** @import { Contestant } from '../rounds/contestants.mjs' */

/** @typedef {'bare http' | 'empty gRPC' | 'service' | 'service through node:http' | 'service on Redis'} Kind */

/** @type {(Contestant & { name: Kind })[]} */
export const CONTESTANTS = [
  { name: 'bare http', role: 'floor', packageName: null, call: 'node:http: parses the same JSON, answers the same bytes' },
  { name: 'service', role: 'sluice', packageName: 'sluice-server', call: 'POST /v1/check, memory' },
  {
    name: 'service through node:http',
    role: 'aside',
    packageName: 'sluice-server',
    call: 'POST /v1/check, memory, --fast-checks false',
  },
  { name: 'service on Redis', role: 'aside', packageName: 'sluice-server', call: 'POST /v1/check, Redis' },
]

/** Programs of servers other than the service. @type {Partial<Record<Kind, string>>} */
const FILES = { 'bare http': 'servers/bare-http.mjs', 'empty gRPC': 'servers/empty-grpc.mjs' }

/**
 * `rlsPort` and `respPort` are those of the other doors. `cpuMicros` is the CPU time of the server's process so far.
 * @typedef {{ port: number, rlsPort: number, respPort: number, key: string, cpuMicros(): Promise<number>, stop(): Promise<void> }} Server
 */

/**
 * @param {Kind} kind
 * @param {number} [layers] number of policies with `applies: always` and a condition, beside one for everybody; 0 by default
 * @returns {Promise<Server>}
 */
export async function startServer(kind, layers = 0) {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-'))
  const redis = kind === 'service on Redis' ? await startRedis() : undefined
  const file = FILES[kind] ?? 'servers/service.mjs'
  const store = redis === undefined ? 'memory:' : `redis://127.0.0.1:${redis.port}`
  const fastChecks = String(kind !== 'service through node:http')
  const child = spawn(
    process.execPath,
    [NO_REST, fileURLToPath(new URL(file, import.meta.url)), folder, store, fastChecks, String(layers)],
    {
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    },
  )
  const lines = createInterface({ input: /** @type {Readable} */ (child.stdout) })
  const [line] = await Promise.race([once(lines, 'line'), once(child, 'exit')])
  if (typeof line !== 'string') throw new Error(`${kind} did not start`)
  const { port, rlsPort, respPort, key } = JSON.parse(line)
  const cpuMicros = async () => {
    const reported = once(child, 'message')
    child.send('cpu')
    const [micros] = await reported
    return micros
  }
  const stop = async () => {
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
    await redis?.stop()
    rmSync(folder, { recursive: true, force: true })
  }
  return { port, rlsPort, respPort, key, cpuMicros, stop }
}
