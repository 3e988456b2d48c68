import { expect, test } from 'vitest'
import { parseRule } from '../algorithms/parse-rule.ts'
import {
  createLimiter,
  durationMs,
  fixedWindow,
  gcra,
  leakyBucket,
  memoryStore,
  SluiceError,
  slidingLog,
  slidingWindow,
  tokenBucket,
  waitingLine,
} from '../index.ts'
import { show } from './errors.ts'

/** The option that an error is about. */
function optionOf(call: () => unknown): string | undefined {
  try {
    call()
  } catch (error) {
    if (error instanceof SluiceError) return error.option
  }
  return 'nothing was refused'
}

test('an error has the wrong option and its value', () => {
  const many = 2 ** 52
  const refused: Record<string, () => unknown> = {
    limit: () => fixedWindow({ limit: 0, window: '1m' }),
    window: () => slidingLog({ limit: 1, window: '1w' as '1d' }),
    anchor: () => fixedWindow({ limit: 1, window: '1m', anchor: 'noon' as 'clock' }),
    elastic: () => fixedWindow({ limit: 1, window: '1m', anchor: 'clock', elastic: true }),
    round: () => slidingWindow({ limit: 1, window: '1m', round: 'up' as 'down' }),
    capacity: () => tokenBucket({ capacity: many, refill: 7, every: '1d' }),
    leak: () => leakyBucket({ capacity: 1, leak: 0, every: '1m' }),
    burst: () => gcra({ limit: 7, period: '1d', burst: many }),
    name: () => fixedWindow({ limit: 1, window: '1m', name: '' }),
    limits: () => fixedWindow({ limit: 1, window: '1m', limits: 5 } as never),
    duration: () => durationMs('soon' as '1s'),
    maxKeys: () => memoryStore({ maxKeys: 0 }),
    maxWaiting: () => waitingLine({ maxWaiting: 0 }),
    rules: () => createLimiter({ rules: [] }),
    key: () => createLimiter({ rules: parseRule('1/second') }).hit(''),
    cost: () => createLimiter({ rules: parseRule('1/second') }).hit('ada', { cost: -1 }),
  }
  for (const [option, call] of Object.entries(refused)) expect(optionOf(call)).toBe(option)
  const error = new SluiceError('ERR_RULE', 'no', { option: 'limit', value: 0 })
  expect([error.option, error.value]).toEqual(['limit', 0])
  expect(new SluiceError('ERR_CLOSED', 'no').option).toBeUndefined()
})

test('an error of another copy of the package is recognised', async () => {
  const path = './errors.ts?another-copy'
  const { SluiceError: Other } = (await import(path)) as { SluiceError: typeof SluiceError }
  expect(Other).not.toBe(SluiceError)
  expect(new Other('ERR_STORE_REFUSED', 'no')).toBeInstanceOf(SluiceError)
  expect(new SluiceError('ERR_STORE_REFUSED', 'no')).toBeInstanceOf(Other)
})

test('nothing else is recognised as a SluiceError, and a subclass is not confused with it', () => {
  for (const thing of [null, undefined, 'ERR_KEY', new Error('no'), { code: 'ERR_KEY' }]) {
    expect(thing instanceof SluiceError).toBe(false)
  }
  class Mine extends SluiceError {}
  expect(new SluiceError('ERR_KEY', 'no') instanceof Mine).toBe(false)
  expect(new Mine('ERR_KEY', 'no') instanceof Mine).toBe(true)
  expect(new Mine('ERR_KEY', 'no') instanceof SluiceError).toBe(true)
})

test('every value can be shown in a message', () => {
  const { proxy, revoke } = Proxy.revocable({}, {})
  const { proxy: callable, revoke: revokeCallable } = Proxy.revocable(() => {}, {})
  revoke()
  revokeCallable()
  const silent = Object.assign(() => {}, {
    toString() {
      throw new Error('no text')
    },
  })
  const values = [proxy, callable, silent, Object.create(null), Symbol('s'), 5n, null, undefined, [1], 'a'.repeat(100)]
  expect(values.map(show)).toEqual([
    ...['an object', 'a function', 'a function', 'an object', 'Symbol(s)', '5n', 'null', 'undefined', 'an array'],
    `"${'a'.repeat(80)}…"`,
  ])
})
