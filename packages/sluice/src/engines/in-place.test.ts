import { expect, test } from 'vitest'
import { fixedWindow } from '../algorithms/fixed-window/fixed-window.ts'
import { createLimiter } from '../create-limiter.ts'
import { fakeClock } from '../testing/fake-clock.ts'
import { inPlaceStore } from './in-place.ts'
import { decodeCells, encodeCells } from './state-codec.ts'

const rules = [
  fixedWindow({ limit: 5, window: 1000, name: 'requests', per: 'user' }),
  fixedWindow({ limit: 9, window: 1000, name: 'tokens', per: 'org' }),
] as const
const ada = { user: 'ada', org: 'acme' }

/** A synchronous database: bytes, and transactions that are taken back if they throw. The nth write fails. */
function makeDatabase(failing: { write: number }) {
  let rows = new Map<string, Uint8Array>()
  let writes = 0
  let depth = 0
  return inPlaceStore({
    clock: fakeClock(),
    transact(body) {
      const before = new Map(rows)
      depth += 1
      try {
        return body()
      } catch (error) {
        rows = before
        throw error
      } finally {
        depth -= 1
      }
    },
    read(name) {
      expect(depth).toBe(1)
      const value = rows.get(name)
      return value && decodeCells(value, name)
    },
    write(name, cells) {
      expect(depth).toBe(1)
      writes += 1
      if (writes === failing.write) throw Object.assign(new Error('database is locked'), { code: 'SQLITE_BUSY' })
      if (cells === undefined) rows.delete(name)
      else rows.set(name, encodeCells(cells))
    },
    clean: () => 0,
    size: () => rows.size,
    sortError: (error) => ((error as { code?: string }).code === 'SQLITE_BUSY' ? 'refused' : undefined),
  })
}

test('a synchronous transaction takes everything back if a write fails, and the error is sorted', () => {
  const store = makeDatabase({ write: 2 })
  const limiter = createLimiter({ rules, store })
  expect(() => limiter.hit(ada)).toThrow(expect.objectContaining({ code: 'ERR_STORE_REFUSED' }))
  expect(store.size).toBe(0)
  expect(limiter.hit(ada).remaining).toBe(4)
  expect(store.size).toBe(2)
})
