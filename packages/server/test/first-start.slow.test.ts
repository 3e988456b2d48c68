// kill -9 of a first start in the middle: right before it stores its admin key. The next start, or another instance, creates the key.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import { until } from '../../../test/servers/redis-server.mjs'
import { startProxy, type TcpProxy } from '../../../test/servers/tcp-proxy.mjs'
import { SharedRecords } from '../src/backends/records/shared-records.ts'
import { ChangeDesk } from '../src/desk/change-desk.ts'
import { KeyChanges } from '../src/desk/key-changes.ts'
import { ServerError } from '../src/errors.ts'
import { makeFirstKey } from '../src/first-key.ts'
import { KeyRing } from '../src/keys/key-ring.ts'
import { openConnected, TEST_DATABASES } from './databases/test-database.ts'
import { wrappedSteps } from './databases/wrapped-steps.ts'
import { temporaryFolder } from './temporary-folder.ts'

const SERVE_PROCESS = fileURLToPath(new URL('serve-process.mjs', import.meta.url))

interface Started {
  readonly child: ChildProcess
  /** All keys that it has printed. */
  keys(): readonly string[]
  address(): string | undefined
}

function start(store: string): Started {
  const env = { ...process.env, SLUICE_STORE: store, SLUICE_LISTEN: '127.0.0.1:0', SLUICE_DATA_FOLDER: temporaryFolder() }
  const child = spawn(process.execPath, [SERVE_PROCESS], { env, stdio: ['ignore', 'pipe', 'ignore'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text) => {
    output += text
  })
  return {
    child,
    keys: () => [...output.matchAll(/^key (\S+)$/gm)].map(([, key]) => key),
    address: () => /^address (\S+)$/m.exec(output)?.[1],
  }
}

/** The status of a request that needs an admin key. */
async function statusOf(started: Started, key: string): Promise<number> {
  return (await fetch(`${started.address()}/v1/keys`, { headers: { 'api-key': key } })).status
}

describe.each(['redis', 'postgres'] as const)('on %s', (name) => {
  async function proxied(): Promise<{ readonly proxy: TcpProxy; readonly store: string }> {
    const database = await TEST_DATABASES[name]({ isDurable: true })
    onTestFinished(() => database.stop())
    const proxy = await startProxy(Number(new URL(database.store).port))
    onTestFinished(() => proxy.stop())
    return { proxy, store: database.store.replace(/:\d+(?=\/|$)/, `:${proxy.port}`) }
  }

  /** Starts an instance, and kills it when it sends its key. The key does not arrive. */
  async function killedAtItsKey(proxy: TcpProxy, store: string): Promise<void> {
    const first = start(store)
    const ended = once(first.child, 'exit')
    proxy.conditions = { loseUp: (bytes) => bytes.includes('first-admin') && first.child.kill('SIGKILL') }
    await ended
    expect(first.keys()).toEqual([])
    proxy.conditions = {}
  }

  test('the next start creates the key at once', async () => {
    const { proxy, store } = await proxied()
    await killedAtItsKey(proxy, store)
    const second = start(store)
    await until('the key', async () => second.keys().length > 0, 8000)
    await until('the address', async () => second.address() !== undefined)
    expect(await statusOf(second, second.keys()[0])).toBe(200)
  }, 40_000)

  test('of two instances that start next, one creates the key', async () => {
    const { proxy, store } = await proxied()
    await killedAtItsKey(proxy, store)
    const others = [start(store), start(store)]
    await until('the addresses', async () => others.every((each) => each.address() !== undefined), 15_000)
    await until('the key', async () => others.some((each) => each.keys().length > 0))
    const keys = others.flatMap((each) => each.keys())
    expect(keys).toHaveLength(1)
    for (const each of others) await until('the key to be known', async () => (await statusOf(each, keys[0])) === 200)
  }, 40_000)
})

test('a key is stored, and its answer is lost for long: it is replaced by one whose secret is known', async () => {
  const database = await TEST_DATABASES.redis()
  onTestFinished(() => database.stop())
  const opened = await openConnected(database)
  let downUntilMs: number | undefined
  const steps = wrappedSteps(opened.records, async (step, send) => {
    if (performance.now() < (downUntilMs ?? 0)) throw new ServerError('ERR_DATA_WRITE', 'no connection')
    const answer = await send()
    if (step !== 'commit' || downUntilMs !== undefined) return answer
    downUntilMs = performance.now() + 3000
    throw new ServerError('ERR_DATA_UNKNOWN', 'the connection was cut')
  })
  const records = new SharedRecords({ database: steps })
  onTestFinished(() => records.close())
  await records.poll()
  const keys = new KeyRing(records)
  onTestFinished(() => keys.close())
  const secrets: string[] = []
  const changes = new KeyChanges(new ChangeDesk(records, opened.audit), keys)
  onTestFinished(() => changes.close().catch(() => {}))
  await makeFirstKey(keys, changes, (secret) => secrets.push(secret))
  expect(secrets).toHaveLength(1)
  expect(keys.verify(secrets[0])).toMatchObject({ name: 'first-admin', scopes: ['admin'] })
  expect(keys.list().filter(({ expiresAt }) => expiresAt === undefined)).toHaveLength(1)
  expect((await opened.audit.read()).entries.map(({ action }) => action)).toEqual(['key.create', 'key.create'])
})
