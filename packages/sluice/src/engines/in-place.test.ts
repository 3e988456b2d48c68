import { expect, test } from 'vitest'
import { fixedWindow } from '../algorithms/fixed-window/fixed-window.ts'
import { SluiceError } from '../core/errors.ts'
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

/** A store without transactions, in its own memory of three cells for each state. Writes fail as `failing` says. */
function makeMemory(failing: (write: number) => boolean) {
  const states = new Map<string, Float64Array>()
  let writes = 0
  const store = inPlaceStore({
    clock: fakeClock(),
    read: (name) => states.get(name),
    write(name, cells) {
      writes += 1
      if (failing(writes)) throw new Error('disk full')
      const kept = states.get(name)
      if (cells === undefined) states.delete(name)
      else if (kept === undefined) states.set(name, cells)
      else kept.set(cells)
    },
    clean: () => 0,
    size: () => states.size,
  })
  return { store, states }
}

test.each([
  ['of a fresh key', 0],
  ['of a known key', 1],
])('without transactions a call %s that fails in its second write changes nothing', (_, before) => {
  const { store, states } = makeMemory((write) => write === before * 2 + 2)
  const limiter = createLimiter({ rules, store })
  for (let i = 0; i < before; i++) limiter.hit(ada)
  const kept = [...states].map(([name, cells]) => [name, [...cells]])
  expect(() => limiter.hit(ada)).toThrow('disk full')
  expect([...states].map(([name, cells]) => [name, [...cells]])).toEqual(kept)
  expect(limiter.hit(ada).remaining).toBe(4 - before)
})

test('a write that cannot be undone makes the error unknown', () => {
  const { store } = makeMemory((write) => write >= 2)
  const limiter = createLimiter({ rules, store })
  const error = { code: 'ERR_STORE_UNKNOWN', cause: expect.objectContaining({ message: 'disk full' }) }
  expect(() => limiter.hit(ada)).toThrow(expect.objectContaining(error))
})

test('all writes are undone that can be, although one cannot', () => {
  const three = [...rules, fixedWindow({ limit: 7, window: 1000, name: 'bytes', per: 'org' })] as const
  for (const notUndone of [7, 8]) {
    // Writes 1 to 3 are the first hit. The last write of the second hit fails, and so does one of the two writes that undo it.
    const { store, states } = makeMemory((write) => write === 6 || write === notUndone)
    const limiter = createLimiter({ rules: three, store })
    limiter.hit(ada)
    expect(() => limiter.hit(ada)).toThrow(expect.objectContaining({ code: 'ERR_STORE_UNKNOWN' }))
    expect([...states.values()].map(([, count]) => count).sort()).toEqual([1, 1, 2])
  }
})

test('a reset that fails in the middle changes nothing, and can be repeated', () => {
  const { store, states } = makeMemory((write) => write === 4)
  const limiter = createLimiter({ rules, store })
  limiter.hit(ada)
  expect(() => limiter.reset(ada)).toThrow('disk full')
  expect(states.size).toBe(2)
  expect(rules.map(({ name }) => limiter.get(ada, { rule: name as 'tokens' }))).toEqual([1, 1])
  limiter.reset(ada)
  expect(store.size).toBe(0)
})

test('a reset drops a state that cannot be read, and says so if it cannot put it back', () => {
  for (const [failing, result] of [
    [0, 'done'],
    [2, 'ERR_STORE_UNKNOWN'],
  ] as const) {
    const dropped: string[] = []
    let writes = 0
    const store = inPlaceStore({
      clock: fakeClock(),
      read(name) {
        throw new SluiceError('ERR_STORE_FATAL', `${name} is damaged`)
      },
      write(name) {
        writes += 1
        if (writes === failing) throw new Error('disk full')
        dropped.push(name)
      },
      clean: () => 0,
      size: () => 0,
    })
    const limiter = createLimiter({ rules, store })
    let got = 'done'
    try {
      limiter.reset(ada)
    } catch (error) {
      got = (error as SluiceError).code
    }
    expect([got, dropped.length]).toEqual([result, failing === 0 ? 2 : 1])
  }
})

/** A store that notes what the engine does with it, and a limiter over it. */
function notedStore() {
  const notes: string[] = []
  const states = new Map<string, Float64Array>()
  const clock = fakeClock()
  const nameOf = (name: string) => name.replace(/\|.*%0000/, ' ')
  const store = inPlaceStore({
    clock: {
      now() {
        notes.push('now')
        return clock.now()
      },
    },
    transact(body) {
      notes.push('begin')
      const result = body()
      notes.push('commit')
      return result
    },
    read(name) {
      notes.push(`read ${nameOf(name)}`)
      return states.get(name)
    },
    write(name, cells, { isNew, share }) {
      notes.push(`write ${nameOf(name)} ${isNew ? 'new' : 'known'} ${share}`)
      if (cells === undefined) states.delete(name)
      else states.set(name, cells)
    },
    clean: () => notes.push('clean'),
    size: () => notes.push('size'),
  })
  const limiter = createLimiter({
    rules: [fixedWindow({ limit: 4, window: 1000, name: 'four' }), fixedWindow({ limit: 8, window: 1000, name: 'eight' })],
    store,
  })
  const notesOf = (call: () => unknown) => {
    notes.length = 0
    call()
    return notes.join(', ')
  }
  return { store, limiter, notesOf }
}

test('each state is read once and before the clock, and written with the share that it has used', () => {
  const { limiter, notesOf } = notedStore()
  const read = 'begin, read ada four, read ada eight, now'
  expect(notesOf(() => limiter.hit('ada'))).toBe(`${read}, write ada four new 0.25, write ada eight new 0.125, commit`)
  expect(notesOf(() => limiter.hit('ada', { cost: 3 }))).toBe(
    `${read}, write ada four known 1, write ada eight known 0.5, commit`,
  )
  expect(notesOf(() => limiter.hit('ada'))).toBe(`${read}, commit`)
  expect(notesOf(() => limiter.inc('ada', 5))).toBe('begin, read ada four, now, write ada four known 1, commit')
  expect(notesOf(() => limiter.refund('ada', 9))).toBe(`${read}, write ada four known 0, write ada eight known 0, commit`)
  expect(notesOf(() => limiter.reset('ada'))).toBe('begin, now, write ada four known 0, write ada eight known 0, commit')
})

test('clean and size are called outside of a transaction', () => {
  const { store, notesOf } = notedStore()
  expect(notesOf(() => store.clean())).toBe('now, clean')
  expect(notesOf(() => store.size)).toBe('size')
})
