import { describe, expect, test } from 'vitest'
import { longestRun } from '../../../test/longest-run.ts'
import { parseRule } from '../../algorithms/parse-rule.ts'
import { createLimiter, dumpStore, fixedWindow, memoryStore, restoreStore, slidingLog } from '../../index.ts'
import { definitionStore, everyRule, fakeClock } from '../../testing/index.ts'
import { seededRandom } from '../../testing/random.ts'
import { walk } from '../../testing/walk.ts'
import type { MemoryState } from './memory-store.ts'

const KEYS = 500

describe('a store that is restored from a dump', () => {
  for (const rule of everyRule()) {
    test(`goes on where the other was: ${rule.name}`, async () => {
      const random = seededRandom()
      const clock = fakeClock()
      const before = memoryStore({ clock })
      const first = createLimiter({ rules: rule, store: before })
      const definition = definitionStore(clock)
      const defined = createLimiter({ rules: rule, store: definition })
      for (let i = 0; i < KEYS; i++) {
        first.inc(`k${i}`, random.whole(1, rule.limit))
        clock.advance(random.whole(0, 3))
      }
      await walk({ tested: first, defined, clock, random, steps: 200 })
      // A dump drops what has ended, so that a clock which steps back does not bring it back.
      definition.clean()
      const second = createLimiter({ rules: rule, store: restoreStore(dumpStore(before), { clock }) })
      for (let i = 0; i < KEYS; i++) {
        expect(second.peek(`k${i}`)).toEqual(first.peek(`k${i}`))
        expect(second.expiresAt(`k${i}`)).toBe(first.expiresAt(`k${i}`))
      }
      await walk({ tested: second, defined, clock, random, steps: 500 })
    })
  }

  test('knows several rules and limiters apart', () => {
    const clock = fakeClock()
    const before = memoryStore({ clock })
    const rules = ['5/minute', 'sliding-log 9/minute', 'gcra 9/minute', 'sliding-window 9/minute'].flatMap((text) =>
      parseRule(text),
    )
    createLimiter({ rules, store: before }).hit('ada', { cost: 2 })
    createLimiter({ rules: parseRule('5/hour'), store: before }).hit('ada')
    const store = restoreStore(dumpStore(before), { clock })
    expect(store.size).toBe(5)
    const limiter = createLimiter({ rules, store })
    expect(limiter.rules.map(({ name }) => limiter.get('ada', { rule: name }))).toEqual([2, 2, 2, 2])
    expect(createLimiter({ rules: parseRule('5/hour'), store }).get('ada')).toBe(1)
    expect(createLimiter({ rules: parseRule('6/hour'), store }).get('ada')).toBe(0)
  })

  test('leaves the store that was dumped as it is, also its states that have ended', () => {
    const clock = fakeClock()
    const store = memoryStore({ clock })
    const limiter = createLimiter({ rules: [parseRule('5/second'), parseRule('sliding-log 5/second')], store })
    for (let i = 0; i < KEYS; i++) limiter.hit(`k${i}`)
    clock.advance(1000)
    const { size } = store
    dumpStore(store)
    expect(store.size).toBe(size)
    expect(size).toBe(2 * KEYS)
  })

  test('has none of the states that have ended, then or meanwhile', () => {
    const clock = fakeClock()
    const before = memoryStore({ clock })
    const second = createLimiter({ rules: [parseRule('5/second'), parseRule('sliding-log 5/second')], store: before })
    const minute = createLimiter({ rules: [parseRule('5/minute'), parseRule('sliding-log 5/minute')], store: before })
    const hour = createLimiter({ rules: parseRule('5/hour'), store: before })
    for (const limiter of [second, minute, hour]) limiter.hit('ada')
    clock.advance(1000)
    const dump = dumpStore(before)
    expect(restoreStore(dump, { clock }).size).toBe(3)
    clock.advance(59_000)
    const after = restoreStore(dump, { clock })
    expect(after.size).toBe(1)
    expect(createLimiter({ rules: parseRule('5/hour'), store: after }).get('ada')).toBe(1)
  })

  test('keeps a denied key with space for few', () => {
    const clock = fakeClock()
    const before = memoryStore({ clock })
    const rules = fixedWindow({ limit: 5, window: '1h' })
    const limiter = createLimiter({ rules, store: before })
    for (let i = 0; i < 2000; i++) limiter.hit(`light:${i}`)
    limiter.hit('flooder', { cost: 5 })
    expect(limiter.hit('flooder').allowed).toBe(false)
    const store = restoreStore(dumpStore(before), { clock, maxKeys: 100 })
    expect(store.size).toBe(100)
    expect(createLimiter({ rules, store }).hit('flooder').allowed).toBe(false)
  })

  test.each([
    ['fewer keys', { maxKeys: 45_000 }, 45_000],
    ['fewer bytes', { maxBytes: 2 ** 22 }, Math.floor(0.7 * 2 ** 16)],
  ])('of %s keeps as many as fit, those that have used the most, spread evenly', (_, options, most) => {
    const clock = fakeClock()
    const before = memoryStore({ clock })
    const rules = fixedWindow({ limit: 100, window: '1h' })
    const limiter = createLimiter({ rules, store: before })
    for (let i = 0; i < 300_000; i++) limiter.hit(`k${i}`, { cost: i % 30 === 0 ? 9 : 1 })
    const store = restoreStore(dumpStore(before), { clock, ...options }) as MemoryState
    expect(store.size).toBe(most)
    expect(longestRun(store.tables[0].rows)).toBeLessThan(400)
    const restored = createLimiter({ rules, store })
    for (let i = 0; i < 300_000; i += 30) if (restored.get(`k${i}`) !== 9) expect.fail(`k${i} was forgotten`)
  })

  test('is restored from a Buffer of Node, whose slices share their memory', () => {
    const clock = fakeClock()
    const store = memoryStore({ clock })
    createLimiter({ rules: fixedWindow({ limit: 5, window: '1h' }), store }).hit('ada')
    expect(restoreStore(Buffer.from(dumpStore(store)), { clock }).size).toBe(1)
  })

  test('is restored from any part of a larger buffer, and leaves the bytes alone', () => {
    const clock = fakeClock()
    const before = memoryStore({ clock })
    createLimiter({ rules: slidingLog({ limit: 5, window: '1h' }), store: before }).hit('ada')
    const dump = dumpStore(before)
    const larger = new Uint8Array(dump.length + 13)
    larger.set(dump, 5)
    const part = larger.subarray(5, 5 + dump.length)
    const limiter = createLimiter({
      rules: slidingLog({ limit: 5, window: '1h' }),
      store: restoreStore(part, { clock }),
    })
    limiter.hit('ada')
    expect(limiter.get('ada')).toBe(2)
    expect(part).toEqual(dump)
  })

  test('counts a hundred thousand keys as before, and goes on growing', () => {
    const clock = fakeClock()
    const before = memoryStore({ clock })
    const rules = fixedWindow({ limit: 1000, window: '1h' })
    const first = createLimiter({ rules, store: before })
    for (let i = 0; i < 100_000; i++) first.inc(`k${i}`, 1 + (i % 97))
    const second = createLimiter({ rules, store: restoreStore(dumpStore(before), { clock }) })
    for (let i = 100_000; i < 200_000; i++) second.inc(`k${i}`, 1 + (i % 97))
    let wrong = 0
    for (let i = 0; i < 200_000; i++) if (second.get(`k${i}`) !== 1 + (i % 97)) wrong += 1
    expect(wrong).toBe(0)
  })
})

describe('a dump that is not whole', () => {
  const clock = fakeClock()
  const before = memoryStore({ clock })
  const limiter = createLimiter({ rules: [parseRule('5/hour'), parseRule('sliding-log 5/hour')], store: before })
  for (let i = 0; i < 5; i++) limiter.hit(`k${i}`)
  const dump = dumpStore(before)

  test('is refused wherever a bit of it has changed', () => {
    for (let i = 0; i < dump.length * 8; i++) {
      const damaged = dump.slice()
      damaged[i >> 3] ^= 1 << (i & 7)
      expect(() => restoreStore(damaged, { clock })).toThrow(expect.objectContaining({ code: 'ERR_DUMP' }))
    }
  })

  test('is refused wherever two bits of it have changed', () => {
    const random = seededRandom()
    const flip = (bytes: Uint8Array, bit: number): void => {
      bytes[bit >> 3] ^= 1 << (bit & 7)
    }
    const pairs = Array.from({ length: 5000 }, () => [random.whole(0, dump.length * 8 - 1), random.whole(0, dump.length * 8 - 1)])
    // The highest bits of two words cancel each other out in a sum.
    for (let word = 4; word + 1 < dump.length / 4; word++) pairs.push([word * 32 + 31, word * 32 + 63])
    for (const [a, b] of pairs) {
      if (a === b) continue
      const damaged = dump.slice()
      flip(damaged, a)
      flip(damaged, b)
      expect(() => restoreStore(damaged, { clock }), `SEED=${random.seed}, bits ${a}, ${b}`).toThrow(
        expect.objectContaining({ code: 'ERR_DUMP' }),
      )
    }
  })

  test('is refused wherever it ends, and where two words have changed places', () => {
    for (let length = 0; length < dump.length; length++) {
      expect(() => restoreStore(dump.slice(0, length), { clock })).toThrow(expect.objectContaining({ code: 'ERR_DUMP' }))
    }
    const words = new Int32Array(dump.slice().buffer)
    const [a, b] = [words[8], words[9]]
    words.set([b, a], 8)
    expect(() => restoreStore(new Uint8Array(words.buffer), { clock })).toThrow(/its checksum is another/)
  })

  test('is refused if it is of another version, or is none', () => {
    const words = new Int32Array(dump.slice().buffer)
    // The states of meters had four cells in version 2.
    words[1] = 2
    expect(() => restoreStore(new Uint8Array(words.buffer), { clock })).toThrow(/it is of version 2, and this is 4/)
    expect(() => restoreStore(new Uint8Array(64), { clock })).toThrow(/does not begin as one/)
    expect(() => restoreStore('text' as never, { clock })).toThrow(expect.objectContaining({ code: 'ERR_OPTION' }))
  })
})

test('an empty store makes a dump too', () => {
  const clock = fakeClock()
  expect(restoreStore(dumpStore(memoryStore({ clock })), { clock }).size).toBe(0)
})
