import { describe, expect, test } from 'vitest'
import { fixedWindow } from '../algorithms/fixed-window/fixed-window.ts'
import type { HeldUnits } from '../core/reserving.ts'
import { createLimiter } from '../create-limiter.ts'
import { holds } from '../holds/holds.ts'
import { memoryStore } from '../stores/memory/memory-store.ts'
import { fakeClock } from '../testing/fake-clock.ts'
import { type MeterEnd, type MeterOptions, meter } from './meter.ts'
import { openaiUsage } from './openai-usage.ts'

const LIMIT = 1000

function setUp(hold: Record<string, number> = { tokens: 100 }, ttl: '1m' | '10s' = '1m') {
  const clock = fakeClock()
  const limiter = createLimiter({
    rules: [
      fixedWindow({ limit: LIMIT, window: '1d', name: 'tokens' }),
      fixedWindow({ limit: LIMIT, window: '1d', name: 'money' }),
    ],
    store: memoryStore({ clock }),
    holds: holds(),
  })
  const held = limiter.reserve('acme', { hold, ttl, cost: { money: 0, ...hold } })
  const ends: MeterEnd[] = []
  const metered = <C>(stream: ReadableStream<C>, options: Partial<MeterOptions<C>> = {}) =>
    meter(stream, held, { count: () => 1, ttl, clock, onEnd: (end) => void ends.push(end), ...options })
  const used = () => ({ tokens: limiter.get('acme', { rule: 'tokens' }), money: limiter.get('acme', { rule: 'money' }) })
  return { clock, limiter, held, ends, metered, used }
}

const chunksOf = <C>(...chunks: C[]): ReadableStream<C> =>
  new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk)
      controller.close()
    },
  })

/** A stream that a test feeds. */
function fedStream<C>() {
  let feed!: ReadableStreamDefaultController<C>
  const cancelled: unknown[] = []
  const stream = new ReadableStream<C>({
    start: (controller) => {
      feed = controller
    },
    cancel: (reason) => void cancelled.push(reason),
  })
  return { stream, feed, cancelled }
}

async function readAll<C>(stream: ReadableStream<C>): Promise<C[]> {
  const read: C[] = []
  for await (const chunk of stream as unknown as AsyncIterable<C>) read.push(chunk)
  return read
}

/** A hold that counts its extensions. */
function countedExtensions(held: HeldUnits) {
  let extensions = 0
  const counted = new Proxy(held, {
    get: (target, name) => {
      if (name === 'extend') extensions += 1
      const value = Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  return { counted, extensions: () => extensions }
}

const turns = async (count = 5): Promise<void> => {
  for (let i = 0; i < count; i++) await new Promise(setImmediate)
}

describe('settles with what was counted', () => {
  test('at the end, before the end is passed on', async () => {
    const { metered, used, ends } = setUp()
    const stream = metered(chunksOf('a', 'bc', 'def'), { count: (chunk) => chunk.length })
    expect(used().tokens).toBe(100)
    expect(await readAll(stream)).toEqual(['a', 'bc', 'def'])
    expect(used().tokens).toBe(6)
    expect(ends).toEqual([{ outcome: 'end', used: 6, error: undefined }])
  })

  test('on cancel, also while a chunk is awaited', async () => {
    const { metered, used, ends } = setUp()
    const { stream, feed, cancelled } = fedStream<string>()
    const reader = metered(stream).getReader()
    feed.enqueue('a')
    await reader.read()
    const awaited = reader.read()
    await reader.cancel('enough')
    expect(await awaited).toEqual({ done: true, value: undefined })
    expect([used().tokens, cancelled, ends]).toEqual([1, ['enough'], [{ outcome: 'cancel', used: 1, error: undefined }]])
  })

  test('on cancel, if the source never finishes its own cancel, or fails it', async () => {
    for (const cancel of [() => new Promise<void>(() => {}), () => Promise.reject(new Error('stuck'))]) {
      const { metered, used } = setUp()
      const stream = metered(new ReadableStream<string>({ cancel }))
      stream.cancel().catch(() => {})
      await turns()
      expect(used().tokens).toBe(0)
    }
  })

  test('on an error of the source, which is passed on', async () => {
    const { metered, used, ends } = setUp()
    const { stream, feed } = fedStream<string>()
    const reader = metered(stream).getReader()
    feed.enqueue('a')
    await reader.read()
    feed.error(new Error('broken'))
    await expect(reader.read()).rejects.toThrow('broken')
    expect([used().tokens, ends]).toEqual([1, [{ outcome: 'error', used: 1, error: undefined }]])
  })

  test('when a response is aborted in the middle of a pipe', async () => {
    const { metered, used, ends } = setUp()
    const { stream, feed } = fedStream<string>()
    const abort = new AbortController()
    const piped = metered(stream).pipeTo(new WritableStream(), { signal: abort.signal })
    feed.enqueue('a')
    await turns()
    abort.abort()
    await expect(piped).rejects.toThrow()
    expect([used().tokens, ends[0].outcome]).toEqual([1, 'cancel'])
  })

  test('a stream that ends at once uses nothing', async () => {
    const { metered, used } = setUp()
    await readAll(metered(chunksOf()))
    expect(used().tokens).toBe(0)
  })

  test('more than was held, also past the limit', async () => {
    const { metered, used } = setUp()
    await readAll(metered(chunksOf(1), { count: () => LIMIT + 5 }))
    expect(used().tokens).toBe(LIMIT + 5)
  })
})

describe('units by rule', () => {
  test('are added up by name, and a number counts for all', async () => {
    const { metered, used } = setUp({ tokens: 100, money: 50 })
    const units = [{ tokens: 3 }, { tokens: 4, money: 9 }, 2]
    await readAll(metered(chunksOf(...units), { count: (chunk) => chunk }))
    expect(used()).toEqual({ tokens: 9, money: 11 })
  })

  test('a rule that is never named is charged what it holds', async () => {
    const { metered, used } = setUp({ tokens: 100, money: 50 })
    await readAll(metered(chunksOf(1), { count: () => ({ tokens: 3 }) }))
    expect(used()).toEqual({ tokens: 3, money: 50 })
  })

  test('a counter of an API that reports nothing is charged what is held', async () => {
    const { metered, used, ends } = setUp({ tokens: 100, money: 50 })
    await readAll(metered(chunksOf('data: {}\n\n'), { count: openaiUsage({ units: () => 1 }) }))
    expect(used()).toEqual({ tokens: 100, money: 50 })
    expect(ends).toEqual([{ outcome: 'end', used: undefined, error: undefined }])
  })
})

describe('count that is wrong', () => {
  test.each<[string, () => unknown, object]>([
    [
      'throws',
      () => {
        throw new Error('oops')
      },
      { message: 'oops' },
    ],
    [
      'throws undefined',
      () => {
        throw undefined
      },
      { message: 'count failed, and not with an error' },
    ],
    ['returns a fraction', () => 0.5, { code: 'ERR_COST' }],
    ['returns a negative number', () => -1, { code: 'ERR_COST' }],
    ['returns NaN', () => Number.NaN, { code: 'ERR_COST' }],
    ['returns nothing', () => undefined, { code: 'ERR_COST' }],
    ['returns a promise', () => Promise.resolve(1), { code: 'ERR_COST' }],
    ['names a rule that is not held', () => ({ money: 1 }), { code: 'ERR_RULE_NAME', option: 'money' }],
  ])('%s: the stream goes on, and all that is held is charged', async (_, count, error) => {
    const { metered, used, ends } = setUp()
    expect(await readAll(metered(chunksOf('a', 'b'), { count: count as never }))).toEqual(['a', 'b'])
    expect(used().tokens).toBe(100)
    expect(ends).toMatchObject([{ outcome: 'end', used: undefined, error }])
  })

  test('a counter whose total is not valid', async () => {
    const { metered, used, ends, held } = setUp()
    await readAll(metered(chunksOf('a'), { count: { add() {}, total: () => 0.5 } }))
    expect(used().tokens).toBe(100)
    expect(() => held.settle()).toThrow(expect.objectContaining({ code: 'ERR_HOLD' }))
    expect(ends).toMatchObject([{ used: undefined, error: { code: 'ERR_COST' } }])
  })

  test('sums stay below 2^53', async () => {
    const { metered, ends } = setUp()
    await readAll(metered(chunksOf(1, 2, 3), { count: () => Number.MAX_SAFE_INTEGER }))
    expect(ends).toMatchObject([{ used: Number.MAX_SAFE_INTEGER }])
  })
})

describe('while it runs, the hold is extended', () => {
  test('for as long as the stream lasts, three times in each ttl at most', async () => {
    const { clock, used, held } = setUp({ tokens: 100 }, '10s')
    const { counted, extensions } = countedExtensions(held)
    const { stream, feed } = fedStream<string>()
    const reader = meter(stream, counted, { count: () => 1, ttl: '10s', clock }).getReader()
    for (let second = 0; second < 600; second++) clock.advance(1000)
    expect(extensions()).toBeGreaterThan(100)
    expect(extensions()).toBeLessThanOrEqual(181)
    expect(used().tokens).toBe(100)
    feed.enqueue('a')
    feed.close()
    while (!(await reader.read()).done);
    expect(used().tokens).toBe(1)
    const before = extensions()
    clock.advance(100_000)
    expect(extensions()).toBe(before)
  })

  test('no longer than `longest`: then it expires and is charged, and the end reports it', async () => {
    const { metered, clock, used, ends } = setUp({ tokens: 100 }, '10s')
    const { stream, feed } = fedStream<string>()
    const reader = metered(stream, { longest: '1m' }).getReader()
    clock.advance(60_000)
    expect(ends).toEqual([])
    clock.advance(10_000)
    feed.close()
    await reader.read()
    expect(used().tokens).toBe(100)
    expect(ends).toMatchObject([{ outcome: 'end', error: { code: 'ERR_HOLD' } }])
  })

  test('an extension that fails is tried again in time', async () => {
    const { clock, held, used } = setUp({ tokens: 100 }, '10s')
    let tries = 0
    const extend: HeldUnits['extend'] = async (ttl) => {
      tries += 1
      if (tries % 2 === 1) throw Object.assign(new Error('down'), { code: 'ERR_STORE_UNKNOWN' })
      await held.extend(ttl)
    }
    const failing = { granted: held.granted, extend, settle: (units) => held.settle(units) } as HeldUnits
    const { stream, feed } = fedStream<string>()
    const reader = meter(stream, failing, { count: () => 1, ttl: '10s', clock }).getReader()
    for (let second = 0; second < 60; second++) {
      clock.advance(1000)
      await turns(1)
    }
    feed.close()
    await reader.read()
    expect(used().tokens).toBe(0)
  })

  test('a hold that was settled elsewhere is not extended any more', async () => {
    const { clock, held, ends } = setUp({ tokens: 100 }, '10s')
    const { counted, extensions } = countedExtensions(held)
    const { stream, feed } = fedStream<string>()
    const reader = meter(stream, counted, { count: () => 1, ttl: '10s', clock, onEnd: (end) => void ends.push(end) }).getReader()
    held.settle(5)
    for (let second = 0; second < 50; second++) {
      clock.advance(1000)
      await turns(1)
    }
    expect(extensions()).toBe(1)
    feed.close()
    await reader.read()
    expect(ends).toMatchObject([{ error: { code: 'ERR_HOLD' } }])
  })
})

test('a chunk is read from the source only if the reader asks for it', async () => {
  let pulled = 0
  const source = new ReadableStream<number>(
    {
      pull(controller) {
        controller.enqueue(pulled++)
      },
    },
    { highWaterMark: 0 },
  )
  const reader = setUp().metered(source).getReader()
  await turns()
  expect(pulled).toBe(0)
  await reader.read()
  expect(pulled).toBe(1)
})

test('an onEnd that throws breaks nothing', async () => {
  const { metered } = setUp()
  const onEnd = () => {
    throw new Error('oops')
  }
  expect(await readAll(metered(chunksOf('a'), { onEnd }))).toEqual(['a'])
})

describe('options that cannot work are refused, and nothing is armed', () => {
  const { held } = setUp()
  const denied = setUp().limiter.reserve('acme', { hold: { tokens: LIMIT + 1 } })
  test.each<[string, unknown, unknown, object, string]>([
    ['no count', chunksOf(), held, {}, 'count'],
    ['a count that is a number', chunksOf(), held, { count: 5 }, 'count'],
    ['a short ttl', chunksOf(), held, { count: () => 1, ttl: 999 }, 'ttl'],
    ['a long ttl', chunksOf(), held, { count: () => 1, ttl: '8d' }, 'ttl'],
    ['a ttl that is none', chunksOf(), held, { count: () => 1, ttl: 'soon' }, 'ttl'],
    ['an unknown option', chunksOf(), held, { count: () => 1, counter: 1 }, 'counter'],
    ['a clock that is none', chunksOf(), held, { count: () => 1, clock: 5 }, 'clock'],
    ['onEnd that is none', chunksOf(), held, { count: () => 1, onEnd: 5 }, 'onEnd'],
    ['no stream', undefined, held, { count: () => 1 }, 'stream'],
    ['no hold', chunksOf(), undefined, { count: () => 1 }, 'hold'],
    ['a hold that was denied', chunksOf(), denied, { count: () => 1 }, 'hold'],
  ])('%s', (_, stream, hold, options, option) => {
    expect(() => meter(stream as never, hold as never, options as never)).toThrow(expect.objectContaining({ option }))
  })

  test('a stream that is locked', () => {
    const stream = chunksOf('a')
    stream.getReader()
    expect(() => meter(stream, held, { count: () => 1 })).toThrow(TypeError)
  })
})
