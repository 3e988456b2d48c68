import { describe, expect, test, vi } from 'vitest'
import { RECORD_RULES, recordWalk } from '../../test/record-walk.ts'
import { toyStore } from '../../test/scripted-toy.ts'
import { type Call, createLimiter, fixedWindow, SluiceError } from '../index.ts'
import { fakeClock, storeSuite } from '../testing/index.ts'
import { seededRandom } from '../testing/random.ts'
import { scriptedStore } from './scripted.ts'
import { systemClock } from './system-clock.ts'

storeSuite('a toy on the scripted engine', (clock) => toyStore({ clock }), { steps: 300 })
storeSuite('a toy with a part for each key', (clock) => toyStore({ clock, partOf: (key) => key }), {
  steps: 300,
  decidesInParts: true,
})

// In several parts a denied hit only peeks. So it does not settle states that are ahead of a clock that stepped back.
describe('records are decided as by the definition', () => {
  for (const [name, rules] of Object.entries(RECORD_RULES)) {
    test.each([
      ['in one part', undefined],
      ['in a part for each key', (key: string) => key],
      ['in two parts', (key: string) => String(key.length % 2)],
    ])(`${name}, %s`, async (_, partOf) => {
      const clock = fakeClock()
      const random = seededRandom()
      const store = toyStore({ clock, ...(partOf && { partOf }) })
      expect(await recordWalk({ store, rules, clock, random, steps: 2000, stepsBack: partOf === undefined })).toBeGreaterThan(100)
    })
  }
})

const five = fixedWindow({ limit: 5, window: '1m' })

test('a part is a command of its own, with at most `most` calls, in their order', async () => {
  const commands: string[] = []
  const store = toyStore({
    clock: fakeClock(),
    most: 2,
    partOf: (key) => key[0],
    before: (part, calls) => commands.push(`${part}: ${calls.map(({ charges }) => charges[0].key)}`),
  })
  const tally = store.tally([five])
  const keys = ['a1', 'b1', 'a2', 'a3']
  await Promise.all(keys.map((key) => tally.ask({ operation: 'hit', charges: [{ rule: 0, key, amount: 1 }] })))
  expect(commands).toEqual(['a: a1,a2', 'b: b1', 'a: a3'])
})

test.each([
  ['3 of them, and 4 are worth a command: one', 4, 3, [3, 3]],
  ['4: one', 4, 4, [4, 4]],
  ['6: one of 4, and the rest', 4, 6, [6, 4, 2]],
  ['16: two', 4, 16, [16, 8, 8]],
  ['32: two', 4, 32, [32, 16, 16]],
  ['33: one', 4, 33, [33, 33]],
  ['16, and 20 are worth a command: one', 20, 16, [16, 16]],
  ['16, in a store that does not overlap: one', undefined, 16, [16, 16]],
])('commands of callers that call again when they get their answers: %s', async (_, leastOverlapped, callers, sizes) => {
  const sent: number[] = []
  const store = toyStore({
    clock: fakeClock(),
    most: 64,
    leastOverlapped,
    before: (_part, calls) => void sent.push(calls.length),
  })
  const tally = store.tally([five])
  const ask = (key: number) => tally.ask({ operation: 'hit', charges: [{ rule: 0, key: `k${key}`, amount: 1 }] })
  await Promise.all(
    Array.from({ length: callers }, async (_, key) => {
      await ask(key)
      await ask(key)
    }),
  )
  expect(sent).toEqual(sizes)
})

test.each([1, 2])(
  'a store that opens while it refuses a call does not get later calls first, with commands of %d',
  async (most) => {
    for (let ticks = 0; ticks < 12; ticks++) {
      let isOpen = false
      const sent: number[] = []
      const store = toyStore({
        clock: systemClock,
        most,
        isOpen: () => isOpen,
        before: (_part, calls) => {
          if (!isOpen) throw new SluiceError('ERR_STORE_REFUSED', 'closed')
          sent.push(...calls.map(({ charges }) => charges[0].amount))
        },
      })
      const limiter = createLimiter({ rules: five, store })
      const hits = [limiter.hit('ada', { cost: 1 })]
      for (let tick = 0; tick < ticks; tick++) await undefined
      isOpen = true
      for (const cost of [2, 2]) hits.push(limiter.hit('ada', { cost }))
      await Promise.all(hits)
      expect(sent, `open after ${ticks} microtasks`).toEqual([1, 2, 2])
    }
  },
)

test('commands stay large while many calls are under way, also after few were', async () => {
  let sent = 0
  let calls = 0
  const store = toyStore({
    clock: fakeClock(),
    leastOverlapped: 4,
    before: async (_part, { length }) => {
      sent += 1
      calls += length
      await new Promise(setImmediate)
    },
  })
  const tally = store.tally([five])
  const callersOf = (count: number, times: number) =>
    Promise.all(
      Array.from({ length: count }, async (_, key) => {
        for (let i = 0; i < times; i++) await tally.ask({ operation: 'hit', charges: [{ rule: 0, key: `k${key}`, amount: 1 }] })
      }),
    )
  await callersOf(16, 50)
  expect(calls / sent).toBeLessThan(12)
  sent = 0
  calls = 0
  await callersOf(128, 50)
  expect(calls / sent).toBeGreaterThan(32)
})

test('calls that follow no answer are one command, also after an overlap', async () => {
  const sent: number[] = []
  const store = toyStore({
    clock: fakeClock(),
    most: 64,
    leastOverlapped: 4,
    before: (_part, calls) => void sent.push(calls.length),
  })
  const tally = store.tally([five])
  const askAll = (count: number) =>
    Promise.all(
      Array.from({ length: count }, (_, key) =>
        tally.ask({ operation: 'hit', charges: [{ rule: 0, key: `k${key}`, amount: 1 }] }),
      ),
    )
  await askAll(16)
  await new Promise(setImmediate)
  await askAll(30)
  expect(sent).toEqual([16, 30])
})

test.each([
  ['with parts', (key: string) => key[0], [2, 1]],
  ['without parts', undefined, [1, 1, 1]],
])('calls wait one turn more while a part has not answered: %s', async (_, partOf, sizes) => {
  const sent: number[] = []
  const answer: (() => void)[] = []
  const store = toyStore({
    clock: fakeClock(),
    ...(partOf && { partOf }),
    before: (_part, calls) => {
      sent.push(calls.length)
      return sent.length === 1 ? new Promise<void>((resolve) => answer.push(resolve)) : undefined
    },
  })
  const tally = store.tally([five])
  const nextTurn = () => new Promise(setImmediate)
  const hit = (key: string) => tally.ask({ operation: 'hit', charges: [{ rule: 0, key, amount: 1 }] })
  const hits = [hit('a1')]
  await nextTurn()
  expect(sent.splice(0)).toEqual([1])
  sent.push(0)
  hits.push(hit('b1'))
  await nextTurn()
  hits.push(hit('b2'))
  await nextTurn()
  await nextTurn()
  answer[0]()
  await Promise.all(hits)
  hits.push(hit('b3'))
  await nextTurn()
  await Promise.all(hits)
  expect(sent.slice(1)).toEqual(sizes)
})

test('while a command is under way, a turn sets one immediate, however many commands it takes', async () => {
  const set = vi.spyOn(globalThis, 'setImmediate')
  const tally = toyStore({ clock: fakeClock(), most: 2 }).tally([five])
  const get = () => tally.ask({ operation: 'get', charges: [{ rule: 0, key: 'a', amount: 0 }] })
  const first = [get(), get()]
  await Promise.resolve()
  expect(set).not.toHaveBeenCalled()
  const asks = Array.from({ length: 9 }, get)
  expect(set).toHaveBeenCalledTimes(1)
  set.mockRestore()
  expect(await Promise.all([...first, ...asks])).toHaveLength(11)
})

describe('an asker that is told the outcome', () => {
  const hitOn = (...keys: string[]): Call => ({
    operation: 'hit',
    charges: keys.map((key, rule) => ({ rule, key, amount: 1 })),
  })
  const toldAsker = (hasLeft = false) => {
    const asker = { hasLeft, isUncounted: false, resolve: (_: unknown) => {}, reject: (_: unknown) => {} }
    const outcome = new Promise<unknown>((resolve, reject) => Object.assign(asker, { resolve, reject }))
    return { asker, outcome }
  }
  const two = [five, fixedWindow({ limit: 5, window: '1h' })]

  test.each([
    ['an answer', {}, hitOn('a', 'a')],
    ['an answer of several parts', { partOf: (key: string) => key }, hitOn('a', 'b')],
    [
      'an answer after a move',
      { partOf: () => 'old', exactPartOf: (key: string) => key, isIn: (part: string) => part !== 'old' },
      hitOn('a', 'a'),
    ],
    ['a move without another part', { partOf: () => 'old', isIn: () => false }, hitOn('a', 'a')],
    ['an error of the server', { before: () => Promise.reject(new Error('down')) }, hitOn('a', 'a')],
  ])('is told the same as a promise: %s', async (_, options, call) => {
    const [expected] = await Promise.allSettled([
      toyStore({ clock: fakeClock(), ...options })
        .tally(two)
        .ask(call),
    ])
    const { asker, outcome } = toldAsker()
    toyStore({ clock: fakeClock(), ...options })
      .tally(two)
      .askFor?.(call, asker)
    expect(asker.isUncounted).toBe(true)
    expect(await Promise.allSettled([outcome])).toEqual([expected])
  })

  test('that has left is told so, and its call is not sent', async () => {
    const before = vi.fn()
    const tally = toyStore({ clock: fakeClock(), before }).tally([five])
    const { asker, outcome } = toldAsker(true)
    tally.askFor?.(hitOn('a'), asker)
    await expect(outcome).rejects.toMatchObject({ code: 'ERR_STORE_REFUSED' })
    expect(before).not.toHaveBeenCalled()
  })

  test('that fails to read its answer does not keep others of the command from theirs', async () => {
    const store = toyStore({ clock: fakeClock() })
    const tally = store.tally([five])
    const makeStandIn = () => {
      throw new Error('no stand-in is needed')
    }
    const guard = store.guard?.({ tally, rules: [five], options: {}, makeStandIn })
    const unreadable = guard?.ask(hitOn('a'), () => {
      throw new Error('unreadable')
    })
    const read = guard?.ask(hitOn('b'), ([used]) => used)
    await expect(unreadable).rejects.toThrow('unreadable')
    await expect(read).resolves.toBe(1)
  })
})

test('names the servers that a call touches, that of its first charge first', () => {
  const rules = ['x', 'y', 'z'].map((name) => fixedWindow({ limit: 5, window: '1m', name }))
  const call = { operation: 'hit', charges: ['b', 'a', 'b'].map((key, rule) => ({ rule, key, amount: 1 })) } as const
  const tally = toyStore({ clock: fakeClock(), partOf: (key) => key }).tally(rules)
  expect(tally.partsOf?.(call)).toEqual(['b', 'a'])
  expect(toyStore({ clock: fakeClock() }).tally(rules).partsOf).toBeUndefined()
})

test('too few answers fail every call of the command, which may have counted', async () => {
  const store = toyStore({ clock: fakeClock(), after: (_part, _calls, answers) => (answers as unknown[]).pop() })
  const ask = store.tally([five]).ask({ operation: 'hit', charges: [{ rule: 0, key: 'a', amount: 1 }] })
  await expect(ask).rejects.toMatchObject({ code: 'ERR_STORE_UNKNOWN' })
})

test.each([
  [[]],
  [[1, 0]],
  [[1, 0, 5, 6]],
  [['1', '0', '5']],
  [[1, Number.NaN, 5]],
  [[null, null, null]],
  [[Symbol('no text'), 0, 5]],
])('an answer of other figures than the call has is none: %j', async (figures) => {
  const store = toyStore({
    clock: fakeClock(),
    after: (_part, _calls, answers) => (answers as unknown[]).splice(0, 1, figures),
  })
  const ask = store.tally([five]).ask({ operation: 'hit', charges: [{ rule: 0, key: 'a', amount: 1 }] })
  await expect(ask).rejects.toMatchObject({
    code: 'ERR_STORE_UNKNOWN',
    message: expect.stringMatching(/where 3 figures belong/),
  })
})

test('an answer that is neither figures nor an error of ours is sorted too', async () => {
  for (const [answer, code] of [
    [undefined, 'ERR_STORE_UNKNOWN'],
    [Object.assign(new Error('rolled back'), { code: '40001' }), 'ERR_STORE_REFUSED'],
    [new SluiceError('ERR_STORE_FATAL', 'damaged'), 'ERR_STORE_FATAL'],
  ] as const) {
    const store = toyStore({ clock: fakeClock(), after: (_part, _calls, answers) => (answers as unknown[]).splice(0, 1, answer) })
    const ask = store.tally([five]).ask({ operation: 'hit', charges: [{ rule: 0, key: 'a', amount: 1 }] })
    await expect(ask).rejects.toMatchObject({ name: 'SluiceError', code })
  }
})

test('sorting that throws does not keep the caller waiting', async () => {
  const store = scriptedStore({
    clock: fakeClock(),
    most: 64,
    describe: (rules) => rules,
    execute: () => Promise.reject(new Error('broken')),
    sortError: (thrown) => (thrown as { code: string }).code.startsWith('40') as never,
    size: async () => 0,
  })
  const ask = store.tally([five]).ask({ operation: 'hit', charges: [{ rule: 0, key: 'a', amount: 1 }] })
  await expect(ask).rejects.toMatchObject({ code: 'ERR_STORE_UNKNOWN', message: expect.stringContaining('broken') })
})

test.each([
  ['refused', new Error('busy'), 'ERR_STORE_REFUSED'],
  ['fatal', new Error('no such program'), 'ERR_STORE_FATAL'],
  [undefined, Object.assign(new Error('down'), { code: 'ECONNREFUSED' }), 'ERR_STORE_REFUSED'],
  [undefined, new Error('cut off'), 'ERR_STORE_UNKNOWN'],
  ['refused', new SluiceError('ERR_STORE_FATAL', 'sorted already'), 'ERR_STORE_FATAL'],
] as const)('sortError returns a kind, as on every engine: %s for %s', async (kind, cause, code) => {
  const store = scriptedStore({
    most: 64,
    describe: (rules) => rules,
    execute: () => Promise.reject(cause),
    sortError: () => kind,
    size: async () => 0,
  })
  const ask = store.tally([five]).ask({ operation: 'hit', charges: [{ rule: 0, key: 'a', amount: 1 }] })
  await expect(ask).rejects.toMatchObject({ code })
})

test("without a clock, deadlines use the system's timers", async () => {
  const store = scriptedStore({
    most: 64,
    describe: (rules) => rules,
    execute: () => new Promise(() => {}),
    size: async () => 0,
  })
  expect(store.clock).toBe(systemClock)
  const limiter = createLimiter({ rules: five, store, failure: { timeoutMs: 5, then: 'allow' } })
  expect(await limiter.hit('ada')).toMatchObject({ failure: { reason: 'timeout' } })
})

test.each([
  ['never answers', () => new Promise(() => {})],
  ['fails', () => Promise.reject(new Error('down'))],
])('a part that %s closes no other part, and the store has not recovered when another answers', async (_, northDoes) => {
  const clock = fakeClock()
  const store = toyStore({ clock, partOf: (key) => key, before: (part) => (part === 'north' ? northDoes() : undefined) })
  const rules = ['x', 'y'].map((name) => fixedWindow({ limit: 99, window: '1m', name, per: name }))
  const limiter = createLimiter({ rules, store, failure: { then: 'deny', failures: 1, timeoutMs: 100 } })
  const both = limiter.hit({ x: 'north', y: 'south' })
  for (let i = 0; i < 20; i++) {
    await new Promise(setImmediate)
    clock.advance(10)
  }
  expect((await both).source).toBe('fallback')
  expect(await limiter.hit({ x: 'south', y: 'west' })).toMatchObject({ allowed: true, source: 'store' })
  expect(limiter.failures.recovered).toBe(0)
  expect((await limiter.hit({ x: 'east', y: 'north' })).failure?.reason).toBe('not-asked')
})

test('describes lists of rules that costs by rule choose, and keeps a bounded number of descriptions', async () => {
  const rules = Array.from({ length: 10 }, (_, i) => fixedWindow({ limit: 5, window: '1m', name: `rule ${i}` }))
  let described = 0
  const store = scriptedStore<null>({
    clock: fakeClock(),
    most: 64,
    describe: () => {
      described += 1
      return null
    },
    execute: async (_part, calls) => calls.map(() => [0]),
    size: async () => 0,
  })
  const tally = store.tally(rules)
  const ask = (subset: number) =>
    tally.ask({
      operation: 'refund',
      charges: rules.flatMap((_, rule) => ((subset >> rule) & 1 ? [{ rule, key: 'a', amount: 1 }] : [])),
    })
  await ask(1)
  await ask(1)
  expect(described).toBe(2)
  for (let subset = 2; subset < 300; subset++) await ask(subset)
  const before = described
  await ask(1)
  expect(described).toBe(before + 1)
})
