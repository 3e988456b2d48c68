// Options of the store and of the class, and errors before anything is sent. Everything else is tested in workerd, in
// test/durable-object.

import { describe, expect, test } from 'vitest'
import { fixedWindow } from '../../algorithms/fixed-window/fixed-window.ts'
import { slidingLog } from '../../algorithms/sliding-log/sliding-log.ts'
import { tokenBucket } from '../../algorithms/token-bucket/token-bucket.ts'
import type { Rule } from '../../core/rule.ts'
import { createLimiter } from '../../create-limiter.ts'
import { durableObjectStore, type ObjectContext, type ObjectNamespace, SluiceObject } from './index.ts'
import { describeRules } from './message.ts'

interface Asked {
  readonly name: string
  readonly hint: unknown
  readonly body: string
}

/** A namespace whose objects all give one answer. */
function namespaceWith(text: string, status = 200, asked: Asked[] = []): ObjectNamespace {
  return {
    idFromName: (name) => name,
    get: (name, hint) => ({
      async fetch(_url, { body }) {
        asked.push({ name: name as string, hint, body })
        return { status, text: async () => text }
      },
    }),
  }
}

const rules = fixedWindow({ limit: 9, window: '1h', name: 'nine' })
const good = '{"version":1,"answers":[[1,0,5]]}'

describe('options', () => {
  test.each([undefined, null, {}, 'SLUICE', { idFromName() {} }])('the namespace %s is refused', (namespace) => {
    expect(() => durableObjectStore(namespace as unknown as ObjectNamespace)).toThrow(
      expect.objectContaining({ code: 'ERR_OPTION', option: 'namespace' }),
    )
  })

  test.each([
    ['shards', 0],
    ['shards', 1001],
    ['shards', 1.5],
    ['shards', '4'],
    ['name', ''],
    ['name', 7],
    ['name', 'x'.repeat(257)],
    ['locationHint', ''],
    ['locationHint', 7],
    ['shard', 4],
  ])('%s: %s is refused', (option, value) => {
    expect(() => durableObjectStore(namespaceWith(good), { [option]: value })).toThrow(
      expect.objectContaining({ code: 'ERR_OPTION', option }),
    )
  })

  test.each([
    ['maxKeys', 0],
    ['maxKeys', 50_000_001],
    ['maxKeys', '9'],
    ['maxkeys', 9],
  ])('%s: %s of an object is refused', (option, value) => {
    const ctx = { storage: {} } as ObjectContext
    expect(() => new SluiceObject(ctx, {}, { [option]: value })).toThrow(expect.objectContaining({ code: 'ERR_OPTION', option }))
  })

  test('name and location go to the namespace, with each message', async () => {
    const asked: Asked[] = []
    const store = durableObjectStore(namespaceWith(good, 200, asked), { name: 'shop', locationHint: 'weur' })
    await createLimiter({ rules, store }).hit('ada')
    expect(asked).toEqual([{ name: 'shop:0', hint: { locationHint: 'weur' }, body: expect.stringContaining('"hit"') }])
  })
})

describe('a limiter that an object cannot serve is refused when it is made', () => {
  const own = Object.create(rules, { algorithm: { value: 'my-own' } })
  test.each<[string, readonly Rule[], string]>([
    [
      '65 rules',
      Array.from({ length: 65 }, (_, i) => fixedWindow({ limit: 9, window: '1h', name: `r${i}` })),
      'at most 64 rules',
    ],
    ['a long log', [slidingLog({ limit: 100_001, window: '1h' })], 'limit must be at most 100000'],
    ['a rule of your own', [own], '"my-own" is not known here'],
  ])('%s', (_, refused, text) => {
    const store = durableObjectStore(namespaceWith(good))
    expect(() => createLimiter({ rules: refused, store })).toThrow(
      expect.objectContaining({ code: 'ERR_RULE', message: expect.stringContaining(text) }),
    )
  })
})

test('the longest text of rules is shorter than the longest that an object reads', () => {
  const widest = Array.from({ length: 64 }, (_, i) =>
    tokenBucket({ capacity: 2 ** 30, refill: 2 ** 30 + 1, every: 2 ** 22 + 1, name: `r${i}` }),
  )
  expect(describeRules(widest).set.length).toBeLessThan(32_768)
})

describe('replies that no object of this version gives', () => {
  test.each([
    ['a page', '<html>', 502],
    ['nothing', '', 200],
    ['null', 'null', 200],
    ['another version', '{"version":2,"answers":[[1,0,5]]}', 200],
    ['another status', good, 500],
    ['too few figures', '{"version":1,"answers":[[1,0]]}', 200],
    ['a figure that is no number', '{"version":1,"answers":[[1,"0",5]]}', 200],
    ['no figures', '{"version":1,"answers":[null]}', 200],
    ['two answers', '{"version":1,"answers":[[1,0,5],[2,0,5]]}', 200],
    ['an unknown code', '{"version":1,"error":{"code":"ERR_OPTION","message":"x"}}', 400],
    ['an error without a code', '{"version":1,"error":null}', 400],
  ])('%s: the call may have counted', async (_, text, status) => {
    const limiter = createLimiter({ rules, store: durableObjectStore(namespaceWith(text, status)) })
    await expect(limiter.hit('ada')).rejects.toMatchObject({ code: 'ERR_STORE_UNKNOWN' })
  })

  test('an error keeps its code and message', async () => {
    const text = '{"version":7,"error":{"code":"ERR_STORE_FATAL","message":"the reason"}}'
    const limiter = createLimiter({ rules, store: durableObjectStore(namespaceWith(text, 400)) })
    await expect(limiter.hit('ada')).rejects.toMatchObject({
      code: 'ERR_STORE_FATAL',
      message: expect.stringContaining('the reason'),
    })
  })
})

test('a namespace that cannot be used here is a fatal error', async () => {
  const namespace = {
    ...namespaceWith(good),
    get() {
      throw new Error('Disallowed operation called within global scope')
    },
  }
  const limiter = createLimiter({ rules, store: durableObjectStore(namespace) })
  await expect(limiter.hit('ada')).rejects.toMatchObject({
    code: 'ERR_STORE_FATAL',
    message: expect.stringContaining('global scope'),
  })
})

test('a lost connection is unknown, also if the runtime says that it may be retried', async () => {
  const lost = Object.assign(new Error('Network connection lost.'), { retryable: true })
  const namespace: ObjectNamespace = { idFromName: (name) => name, get: () => ({ fetch: () => Promise.reject(lost) }) }
  const limiter = createLimiter({ rules, store: durableObjectStore(namespace) })
  await expect(limiter.hit('ada')).rejects.toMatchObject({ code: 'ERR_STORE_UNKNOWN' })
})

test('an endless wait arrives as one', async () => {
  const limiter = createLimiter({ rules, store: durableObjectStore(namespaceWith('{"version":1,"answers":[[0,-1,0]]}')) })
  expect((await limiter.hit('ada', { cost: 10 })).retryAfterMs).toBe(Number.POSITIVE_INFINITY)
})
