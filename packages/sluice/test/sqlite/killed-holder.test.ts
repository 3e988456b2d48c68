// A process that is killed by SIGKILL while it holds places and units in a shared file.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { concurrency, createLimiter, fixedWindow, holds } from '../../src/index.ts'
import { sqliteStore } from '../../src/stores/sqlite/sqlite-store.ts'
import { sqliteFiles } from './files.ts'

const LIMIT = 3
const TTL_MS = 60_000

const files = sqliteFiles()
const program = fileURLToPath(new URL('./hold-places.mjs', import.meta.url))

test('its places are free at their ttl, and not before; its units are charged', async () => {
  const file = files.fresh()
  const child = spawn(process.execPath, [program, file, LIMIT, TTL_MS, LIMIT + 1].map(String), {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let said = ''
  for await (const chunk of child.stdout) {
    said += chunk
    if (said.length > LIMIT) break
  }
  const heldMs = Date.now()
  expect(said).toBe('+++-')
  child.kill('SIGKILL')
  if (child.signalCode === null) await once(child, 'exit')

  // The clock of this process is moved instead of waiting.
  let aheadMs = 0
  const limiter = createLimiter({
    rules: [
      concurrency({ limit: LIMIT, ttl: TTL_MS, name: 'places' }),
      fixedWindow({ limit: 1000, window: '1d', name: 'units' }),
    ],
    store: sqliteStore(files.open(file), { clock: { now: () => Date.now() + aheadMs } }),
    holds: holds(),
  })
  const used = () => limiter.rules.map(({ name }) => limiter.get('ada', { rule: name }))
  expect(used()).toEqual([LIMIT, 30])
  expect(limiter.reserve('ada', { hold: { units: 1 } }).allowed).toBe(false)
  aheadMs = TTL_MS - 5000 - (Date.now() - heldMs)
  expect(used()).toEqual([LIMIT, 30])
  expect(limiter.reserve('ada', { hold: { units: 1 } }).allowed).toBe(false)
  aheadMs = TTL_MS
  expect(used()).toEqual([0, 30])
  const all = Array.from({ length: LIMIT }, () => limiter.reserve('ada', { hold: { units: 1 } }))
  expect(all.map(({ allowed }) => allowed)).toEqual([true, true, true])
  expect(limiter.reserve('ada', { hold: { units: 1 } }).allowed).toBe(false)
  for (const hold of all) hold.cancel()
  expect(used()).toEqual([0, 30])
})
