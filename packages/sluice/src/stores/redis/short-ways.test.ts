// The small programs and the short ways against the long way of the general program: the same calls on the same states have the same
// answers, and leave the same bytes in Redis. So a short way decides nothing otherwise. Values may be corrupt, keys may lack an
// expiry, the clock may step back, and names may travel as keys or as arguments.

import { Redis } from 'ioredis'
import { describe, expect, test } from 'vitest'
import { beforeTests, freshPrefix, realRedis } from '../../../test/redis/real-redis.ts'
import { BoundedWindow } from '../../algorithms/calendar-window/bounded-window.ts'
import type { Charge, Operation } from '../../core/call.ts'
import type { Rule } from '../../core/rule.ts'
import { createLimiter, fixedWindow, SluiceError, slidingWindow, tokenBucket } from '../../index.ts'
import { everyRule, exampleRule } from '../../testing/index.ts'
import { type Random, seededRandom } from '../../testing/random.ts'
import { describeRules, RedisCommand, type Sending } from './redis-command.ts'
import { RedisKeys } from './redis-keys.ts'
import { GENERAL_PROGRAM, type RedisProgram } from './redis-programs.ts'
import { redisStore } from './redis-store.ts'
import { SenderNote } from './sender-note.ts'

const server = realRedis()
const redis = beforeTests(
  async () => new Redis(server.it.port, '127.0.0.1'),
  (client) => client.disconnect(),
)

const SUBJECTS = ['ada', 'bob', 'eve']

const START_MS = 1_800_000_000_000

/** One copy of the states, under a prefix of its own. */
class States {
  readonly #rules: readonly Rule[]
  readonly #keys: RedisKeys
  readonly #prefix = freshPrefix()

  constructor(rules: readonly Rule[]) {
    this.#rules = rules
    this.#keys = new RedisKeys(this.#prefix)
  }

  commandOf(operation: Operation, charges: readonly (readonly Charge[])[]): RedisCommand {
    const rules = describeRules(
      this.#rules.map((rule) => rule.around?.(START_MS) ?? rule),
      this.#keys,
    )
    return new RedisCommand(
      charges.map((ofCall) => ({ operation, charges: ofCall, rules })),
      this.#keys,
    )
  }

  nameOf(key: string, rule: Rule): string {
    return this.#keys.startOf(key) + this.#keys.endOf(rule)
  }

  note(): SenderNote {
    return new SenderNote((id) => this.#keys.onceOf('x', id))
  }

  /** Returns the answers. An error is its message, without the prefix. */
  async execute(command: RedisCommand, sending: Sending): Promise<unknown[]> {
    const reply = await evaluate(command.program, command.arguments(sending))
    return command.read(reply).map((answer) => {
      return answer instanceof SluiceError ? answer.message.replaceAll(`${this.#prefix}:`, '') : answer
    })
  }

  /** Returns the bytes of every state. */
  async bytes(): Promise<string[]> {
    const names = SUBJECTS.flatMap((key) => this.#rules.map((rule) => this.nameOf(key, rule)))
    return Promise.all(names.map((name) => bytesOf(name)))
  }
}

async function bytesOf(name: string): Promise<string> {
  const type = await redis.it.type(name)
  if (type === 'list') return (await redis.it.lrangeBuffer(name, 0, -1)).map((entry) => entry.toString('hex')).join()
  return (await redis.it.getBuffer(name))?.toString('hex') ?? ''
}

async function evaluate({ sha1, source }: RedisProgram, args: readonly string[]): Promise<unknown> {
  try {
    return await redis.it.call('evalsha', sha1, ...args)
  } catch (error) {
    if (!(error as Error).message.startsWith('NOSCRIPT')) throw error
    return redis.it.call('eval', source, ...args)
  }
}

const ODD_NUMBERS = [Number.NaN, Number.POSITIVE_INFINITY, -1, -0, 0, 0.5, 1, 2 ** 53 - 1, 2 ** 53, 1e300]

/** Changes one cell of a state, or its length, or its type, in the same way in both copies. */
async function corrupt(copies: readonly States[], rules: readonly Rule[], nowMs: number, random: Random): Promise<void> {
  const key = random.pick(SUBJECTS)
  const rule = random.pick(rules)
  const names = copies.map((states) => states.nameOf(key, rule))
  const kind = random.whole(0, 9)
  if (kind === 0) {
    for (const name of names) await redis.it.multi().del(name).rpush(name, 'x').exec()
    return
  }
  if ((await redis.it.type(names[0])) !== 'string') return
  const value = await redis.it.getBuffer(names[0])
  if (value === null || value.length === 0 || value.length % 8 !== 0) return
  if (kind === 1) {
    const cut = value.subarray(random.pick([0, 1, 8]))
    for (const name of names) await redis.it.set(name, cut, 'PX', 3_600_000)
    return
  }
  const cell = random.whole(0, value.length / 8 - 1) * 8
  const number = random.pick([...ODD_NUMBERS, value.readDoubleLE(cell) + random.whole(-2, 2), nowMs + random.whole(-2, 2000)])
  value.writeDoubleLE(number, cell)
  for (const name of names) await redis.it.set(name, value, 'PX', 3_600_000)
}

async function compare(rules: readonly Rule[], commands: number, isCorrupted: boolean): Promise<void> {
  const random = seededRandom()
  const small = new States(rules)
  const general = new States(rules)
  const note = small.note()
  let nowMs = START_MS
  for (let step = 0; step < commands; step++) {
    nowMs += random.pick([0, 0, 1, 2, 7, 60, 300, 1100, random.whole(0, 9) === 0 ? -random.whole(1, 900) : 3])
    const same = random.pick([undefined, 1])
    // The small program reads 256 values at once. So some commands have more.
    const hits = Array.from({ length: random.pick([1, 1, 2, 20, step % 20 === 0 ? 140 : 2]) }, () => {
      const keys = { undefined: random.pick(SUBJECTS), user: random.pick(SUBJECTS), org: random.pick(SUBJECTS) }
      const most = random.pick([1, 1, 2, 12])
      return rules.map(({ per }, rule): Charge => {
        return { rule, key: keys[String(per) as keyof typeof keys], amount: same ?? random.whole(1, most) }
      })
    })
    const isLost = random.whole(0, 3) === 0
    for (const states of [small, general]) {
      if (isLost) for (const rule of rules) await redis.it.persist(states.nameOf('ada', rule))
    }
    if (isCorrupted && random.whole(0, 2) === 0) await corrupt([small, general], rules, nowMs, random)
    const command = small.commandOf('hit', hits)
    expect(command.program).not.toBe(GENERAL_PROGRAM)
    const noted = random.pick([undefined, note.begin()])
    const isUndeclared = random.pick([false, true])
    const answers = await small.execute(command, { nowMs, ...(isUndeclared ? { isUndeclared } : { note: noted?.entry }) })
    noted?.end(true)
    // A timed hit goes the long way. The time follows its figures.
    const expected = (await general.execute(general.commandOf('timedHit', hits), { nowMs })).map((answer) =>
      Array.isArray(answer) ? answer.slice(0, -1) : answer,
    )
    const where = `SEED=${random.seed}, step ${step}: ${JSON.stringify(hits)}`
    expect(answers, where).toEqual(expected)
    expect(await small.bytes(), where).toEqual(await general.bytes())
    if (isCorrupted && random.whole(0, 9) === 0) {
      // States that every call refuses would end the walk.
      for (const states of [small, general])
        await redis.it.del(SUBJECTS.flatMap((key) => rules.map((r) => states.nameOf(key, r))))
    }
  }
}

/** Rules of large numbers, each with cells that are no state of it, although almost nothing of them counts any more. */
const LARGE: Readonly<Record<string, { rule: Rule; cellsAt: (nowMs: number) => readonly number[] }>> = {
  'a debt of 2^53 that has drained': {
    rule: tokenBucket({ capacity: 2 ** 42, refill: 2 ** 40, every: 2, style: 'stepped' }),
    cellsAt: (nowMs) => [nowMs + 5, 2 ** 53],
  },
  'a large window that ends in a millisecond': {
    rule: slidingWindow({ limit: 2 ** 30 - 1, window: 2 ** 22 - 1 }),
    cellsAt: (nowMs) => [nowMs + 2 ** 22, nowMs - 2 ** 22 + 2, 1, 2 ** 32],
  },
}

test.each(Object.entries(LARGE))('%s is refused', async (_, { rule, cellsAt }) => {
  const nowMs = START_MS
  const states = new States([rule])
  const command = states.commandOf('hit', [[{ rule: 0, key: 'ada', amount: 1 }]])
  await states.execute(command, { nowMs })
  const [name] = command.names
  const value = (await redis.it.getBuffer(name)) as Buffer
  for (const [i, cell] of cellsAt(nowMs).entries()) value.writeDoubleLE(cell, i * 8)
  await redis.it.set(name, value)
  expect(await states.execute(command, { nowMs })).toEqual([expect.stringContaining('is not a state of its rule')])
})

/** A calendar of short windows: three of them, and times before and after, at which no window fits. */
const bounded = new BoundedWindow(
  { name: 'bounded', per: undefined, limit: 5 },
  { startOfLast: START_MS + 300, startOfThis: START_MS + 1500, startOfNext: START_MS + 2200, endOfNext: START_MS + 6000 },
)

const SEVERAL: Readonly<Record<string, readonly Rule[]>> = {
  'a calendar and its end': [bounded, exampleRule('fixed-window')],
  'two fixed windows': [exampleRule('fixed-window'), exampleRule('fixed-window', 'on the clock')],
  'two keys, which may be equal': [
    fixedWindow({ limit: 9, window: '1s', per: 'user', name: 'w' }),
    fixedWindow({ limit: 30, window: '2s', per: 'org', name: 'w' }),
  ],
  'a window and a bucket': [exampleRule('fixed-window'), exampleRule('token-bucket')],
  'one of each without a log': [exampleRule('fixed-window'), exampleRule('sliding-window'), exampleRule('gcra')],
  'one of each': ['fixed-window', 'sliding-window', 'sliding-log', 'leaky-bucket'].map((algorithm) =>
    exampleRule(algorithm as Parameters<typeof exampleRule>[0]),
  ),
  'every rule': everyRule(),
}

describe.each([
  ['states as they are', false],
  ['corrupt states', true],
])('%s', (_, isCorrupted) => {
  test('a calendar of short windows', () => compare([bounded], 150, isCorrupted))
  for (const { rule } of Object.values(LARGE)) test(rule.name, () => compare([rule], 150, isCorrupted))
  for (const rule of everyRule()) test(rule.name, () => compare([rule], 150, isCorrupted))
  for (const [name, rules] of Object.entries(SEVERAL)) test(name, () => compare(rules, 80, isCorrupted))
})

test('hits of limiters that share a rule count on each other, in one command', async () => {
  const [a, b, c] = ['a', 'b', 'c'].map((name) => fixedWindow({ limit: 50, window: '1h', name }))
  const store = redisStore(redis.it, { prefix: freshPrefix() })
  const limiters = [
    [a, b],
    [c, b],
    [b, a],
    [b, c],
  ].map((rules) => createLimiter({ rules, store }))
  await Promise.all(limiters.map((limiter) => limiter.hit('ada')))
  await Promise.all([...limiters, ...limiters].map((limiter) => limiter.hit('ada')))
  const used = await Promise.all(['a', 'b'].map((rule) => limiters[0].get('ada', { rule })))
  expect([...used, await limiters[1].get('ada', { rule: 'c' })]).toEqual([6, 12, 6])
})
