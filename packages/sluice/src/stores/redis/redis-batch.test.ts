import { Redis } from 'ioredis'
import { describe, expect, onTestFinished, test } from 'vitest'
import { clientFor, SINGLE } from '../../../test/redis/clients.ts'
import { beforeTests, freshPrefix, patientLimiter, realRedis } from '../../../test/redis/real-redis.ts'
import { parseRule } from '../../algorithms/parse-rule.ts'
import type { Call } from '../../core/call.ts'
import { createLimiter, type Decision, fixedWindow, type Limiter, slidingLog, tokenBucket } from '../../index.ts'
import { definitionStore, everyRule, exampleRule, fakeClock } from '../../testing/index.ts'
import { seededRandom } from '../../testing/random.ts'
import type { SendCommand } from './redis-client.ts'
import { describeRules, RedisCommand } from './redis-command.ts'
import { RedisKeys } from './redis-keys.ts'
import { type RedisStoreOptions, redisStore } from './redis-store.ts'

const server = realRedis()
const redis = beforeTests(
  async () => new Redis(server.it.port, '127.0.0.1'),
  (client) => client.disconnect(),
)

const nextTurn = () => new Promise(setImmediate)

/** A store over the real server that records the commands it sends. */
async function tellingStore(options: RedisStoreOptions = {}) {
  const commands: (readonly string[])[] = []
  const send: SendCommand = (_key, command) => {
    commands.push(command)
    return redis.it.call(command[0], ...command.slice(1))
  }
  const prefix = freshPrefix()
  const store = redisStore(send, { prefix, ...options })
  // From here on, the server has the general program, and the small one for fixed windows.
  const warm = patientLimiter(parseRule('1/second'), store)
  await warm.peek('warm')
  await warm.hit('warm')
  commands.length = 0
  return { store, commands, prefix }
}

const five = fixedWindow({ limit: 5, window: '1m', name: 'five' })

function hitOn(key: string): Call {
  return { operation: 'hit', charges: [{ rule: 0, key, amount: 1 }] }
}

describe('calls of one turn', () => {
  test('travel as one command while another is under way, whichever limiter, method and key', async () => {
    const { store, commands } = await tellingStore()
    const one = patientLimiter(five, store)
    const three = patientLimiter([five, slidingLog({ limit: 9, window: '1m' }), parseRule('3/second')], store)
    const earlier = one.get('eve')
    await Promise.resolve()
    const first = [one.hit('ada'), three.hit('bob'), one.inc('ada', 2), three.peek('bob'), one.get('ada')]
    // Still the same turn.
    await Promise.resolve()
    const second = await new Promise<Promise<unknown>[]>((resolve) =>
      process.nextTick(() => resolve([three.reset('eve'), one.expiresAt('bob'), one.set('ada', 4), three.refund('bob')])),
    )
    expect(await earlier).toBe(0)
    const answers = await Promise.all([...first, ...second])
    expect(commands.map(([name]) => name)).toEqual(['evalsha', 'evalsha'])
    const said = answers.map((answer) => (typeof answer === 'object' ? (answer as Decision).remaining : answer))
    expect(said).toEqual([4, 2, 3, 2, 3, undefined, expect.any(Number), 4, 0])
  })

  test('are sent as soon as the code that made them has run, if no command is under way', async () => {
    const { store, commands } = await tellingStore()
    const limiter = patientLimiter(five, store)
    const hits = ['ada', 'bob', 'eve'].map((key) => limiter.hit(key))
    expect(commands).toHaveLength(0)
    await Promise.resolve()
    expect(commands).toHaveLength(1)
    expect((await Promise.all(hits)).every(({ allowed }) => allowed)).toBe(true)
    expect(commands).toHaveLength(1)
  })

  test('are sent in the next turn, not when earlier ones have been answered', async () => {
    let sent = 0
    const neverAnswers = () => {
      sent += 1
      return new Promise<never>(() => {})
    }
    const tally = redisStore(neverAnswers).tally([five])
    for (let turn = 0; turn < 5; turn++) {
      tally.ask(hitOn('ada'))
      tally.ask(hitOn('bob'))
      expect(sent).toBe(turn)
      await nextTurn()
      expect(sent).toBe(turn + 1)
    }
  })

  test('each gets its own answer: the one that the definition gives in the same order', async () => {
    const clock = fakeClock()
    const { store, commands } = await tellingStore({ clock, batch: 1024 })
    const random = seededRandom()
    const several = [exampleRule('fixed-window', 'elastic'), exampleRule('sliding-log'), exampleRule('sliding-window')]
    const sets = [[five], everyRule(), several, [tokenBucket({ capacity: 3, refill: 1, every: '1s' })]]
    const tested = sets.map((rules) => patientLimiter(rules, store))
    const definition = definitionStore(clock)
    const defined = sets.map((rules) => createLimiter({ rules, store: definition }))
    for (let round = 0; round < 5; round++) {
      const calls = Array.from({ length: 200 }, () => {
        const [which, key, cost] = [random.whole(0, sets.length - 1), random.pick(['ada', 'bob', 'eve']), random.whole(1, 3)]
        const ask: (limiter: Limiter) => unknown = random.pick([
          (limiter) => limiter.hit(key, { cost }),
          (limiter) => limiter.hit(key),
          (limiter) => limiter.peek(key, { cost }),
          (limiter) => limiter.inc(key, cost),
          (limiter) => limiter.get(key),
          (limiter) => limiter.refund(key, cost),
        ])
        return { which, ask }
      })
      const expected = calls.map(({ which, ask }) => ask(defined[which]))
      const got = await Promise.all(calls.map(({ which, ask }) => ask(tested[which])))
      expect(got.map(figuresOf), `SEED=${random.seed}`).toEqual(expected.map(figuresOf))
      clock.advance(random.whole(1, 400))
    }
    expect(commands).toHaveLength(5)
  })

  for (const rule of everyRule()) {
    test(`are decided as if made one by one, however the clock moves: ${rule.name}`, async () => {
      const clock = fakeClock()
      const { store } = await tellingStore({ clock })
      const random = seededRandom()
      const tested = createLimiter({ rules: rule, store })
      const defined = createLimiter({ rules: rule, store: definitionStore(clock) })
      for (let turn = 0; turn < 60; turn++) {
        const hits = Array.from({ length: 20 }, () => ({
          key: random.pick(['ada', 'bob', 'eve']),
          cost: random.pick([1, 1, 1, 2, 3, rule.limit + 1]),
        }))
        const expected = hits.map(({ key, cost }) => defined.hit(key, { cost }))
        const got = await Promise.all(hits.map(({ key, cost }) => tested.hit(key, { cost })))
        expect(got.map(figuresOf), `SEED=${random.seed}`).toEqual(expected.map(figuresOf))
        clock.set(clock.now() + random.pick([0, 1, 7, 300, 300, 1100, -5, -900]))
      }
    })
  }

  test('on one key are decided in the order in which they were made', async () => {
    const { store } = await tellingStore()
    const limiter = patientLimiter(five, store)
    const costs = [1, 3, 2, 1, 1]
    const decisions = await Promise.all(costs.map((cost) => limiter.hit('ada', { cost })))
    expect(decisions.map(({ allowed, remaining }) => [allowed, remaining])).toEqual([
      [true, 4],
      [true, 1],
      [false, 1],
      [true, 0],
      [false, 0],
    ])
  })

  test('are at most `batch` in a command', async () => {
    for (const [batch, sizes] of [
      [300, [300, 300, 100]],
      [1, Array(700).fill(1)],
      [1024, [700]],
    ] as const) {
      const { store, commands } = await tellingStore({ batch })
      const limiter = patientLimiter(five, store)
      const decisions = await Promise.all(Array.from({ length: 700 }, (_, i) => limiter.hit(`user ${i % 140}`)))
      expect(decisions.every(({ allowed }) => allowed)).toBe(true)
      expect(commands.map((command) => Number(command[2]))).toEqual(sizes)
    }
    for (const batch of [0, 1025, 1.5, '10']) {
      expect(() => redisStore(redis.it, { batch: batch as number })).toThrow(expect.objectContaining({ code: 'ERR_OPTION' }))
    }
  })

  test('as many as can be, over many rules each, are answered', async () => {
    const { store, commands } = await tellingStore({ batch: 1024 })
    const rules = Array.from({ length: 8 }, (_, i) => fixedWindow({ limit: 10 + i, window: '1m' }))
    const limiter = patientLimiter(rules, store)
    const decisions = await Promise.all(Array.from({ length: 1024 }, (_, i) => limiter.hit(`user ${i}`)))
    expect(commands).toHaveLength(1)
    expect(decisions.every(({ allowed, remaining }) => allowed && remaining === 9)).toBe(true)
  })
})

describe('a call that fails', () => {
  const rules = [five, slidingLog({ limit: 5, window: '1m', name: 'log' })]

  test.each([
    ['a value of another type', ['LPUSH', '{bob}:fixed-window:five', '1'], 'WRONGTYPE'],
    ['a value that is no state', ['SET', '{bob}:fixed-window:five', 'whoops'], 'not a state'],
    ['another type under its last rule', ['SET', '{bob}:sliding-log:log', 'whoops'], 'WRONGTYPE'],
  ])('fails alone, names its key and charges nothing: %s', async (_, [command, name, value], message) => {
    const { store, prefix } = await tellingStore()
    const limiter = patientLimiter(rules, store)
    await redis.it.call(command, `${prefix}:1:${name}`, value)
    const before = await limiter.hit('ada')
    const settled = await Promise.allSettled([limiter.hit('ada'), limiter.hit('bob'), limiter.hit('ada'), limiter.refund('bob')])
    expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'rejected'])
    expect((settled[2] as PromiseFulfilledResult<Decision>).value.remaining).toBe(before.remaining - 2)
    const { reason } = settled[1] as PromiseRejectedResult
    expect(reason).toMatchObject({ code: 'ERR_STORE_FATAL', transient: false })
    expect(reason.message).toContain(message)
    expect(reason.message).toContain(`${prefix}:1:{bob}:`)
    const other = name.includes('log') ? 'five' : 'log'
    expect(await limiter.get('bob', { rule: other })).toBe(0)
  })

  test.each([
    ['by the short way', fixedWindow({ limit: 5, window: '1m', name: 'other' })],
    ['by the long way', slidingLog({ limit: 5, window: '1m', name: 'other' })],
  ])('after the state of its first rule was written, %s, may have been counted', async (_, other) => {
    const prefix = freshPrefix()
    const allowed = ['~*:five', '%R~*:other', '+@all', 'allchannels']
    await redis.it.call('ACL', 'SETUSER', prefix, 'on', 'nopass', 'resetkeys', ...allowed)
    const client = new Redis(server.it.port, '127.0.0.1', { username: prefix, password: 'x' })
    onTestFinished(() => client.disconnect())
    const keys = new RedisKeys(prefix)
    const charges = [0, 1].map((rule) => ({ rule, key: 'ada', amount: 1 }))
    const command = new RedisCommand([{ operation: 'hit', charges, rules: describeRules([five, other], keys) }], keys)
    // Redis looks at the rights to declared keys before it runs a script.
    const reply = await client.call('EVAL', command.program.source, ...command.arguments({ isUndeclared: true }))
    expect(command.read(reply)).toMatchObject([{ code: 'ERR_STORE_UNKNOWN' }])
    const limiter = patientLimiter([five, other], redisStore(redis.it, { prefix }))
    expect(await limiter.get('ada', { rule: 'five' })).toBe(1)
    expect(await limiter.get('ada', { rule: 'other' })).toBe(0)
  })
})

describe('a program that is not there', () => {
  test('is sent once, with the same calls, which count once', async () => {
    const { store, commands } = await tellingStore()
    const limiter = patientLimiter(five, store)
    await redis.it.call('SCRIPT', 'FLUSH')
    const decisions = await Promise.all([limiter.hit('ada'), limiter.hit('ada')])
    expect(decisions.map(({ remaining }) => remaining)).toEqual([4, 3])
    await limiter.hit('ada')
    expect(commands.map(([name]) => name)).toEqual(['evalsha', 'eval', 'evalsha'])
    expect(await limiter.get('ada')).toBe(3)
  })

  test('is sent no second time if that does not help', async () => {
    const names: string[] = []
    const forgetful: SendCommand = async (_key, [name]) => {
      names.push(name)
      if (names.length === 1) return '1,0,60000'
      throw new Error('NOSCRIPT No matching script. Please use EVAL.')
    }
    const tally = redisStore(forgetful).tally([five])
    await tally.ask(hitOn('ada'))
    await expect(tally.ask(hitOn('ada'))).rejects.toMatchObject({ code: 'ERR_STORE_REFUSED' })
    expect(names).toEqual(['eval', 'evalsha', 'eval'])
  })

  test('is sent with the first command, so that those behind it find it', async () => {
    const names: string[] = []
    const send: SendCommand = async (_key, [name]) => {
      names.push(name)
      return '1,0,60000'
    }
    const tally = redisStore(send, { batch: 1 }).tally([five])
    await Promise.all([tally.ask(hitOn('ada')), tally.ask(hitOn('ada')), tally.ask(hitOn('ada'))])
    expect(names).toEqual(['eval', 'evalsha', 'evalsha'])
  })

  test('holds back later calls until those that lack it are on their way again, but not for ever', async () => {
    const answers: ((answer: string | Error) => void)[] = []
    const send: SendCommand = () =>
      new Promise((resolve, reject) => {
        answers.push((answer) => (answer instanceof Error ? reject(answer) : resolve(answer)))
      })
    const tally = redisStore(send, { batch: 1 }).tally([five])
    const hits = [tally.ask(hitOn('first'))]
    answers[0]('1,0,60000')
    await hits[0]
    hits.push(tally.ask(hitOn('flushed')), tally.ask(hitOn('behind')))
    answers[1](new Error('NOSCRIPT No matching script. Please use EVAL.'))
    await new Promise(setImmediate)
    await expect(tally.ask(hitOn('later'))).rejects.toMatchObject({ code: 'ERR_STORE_REFUSED' })
    answers[2](new Error('NOSCRIPT No matching script. Please use EVAL.'))
    await new Promise(setImmediate)
    answers[3]('1,0,60000')
    answers[4]('2,0,60000')
    await Promise.all(hits)
    const after = tally.ask(hitOn('after'))
    answers[5]('3,0,60000')
    expect(await after).toEqual([3, 0, 60_000])
    // A command that never ends does not keep the others waiting for ever.
    void tally.ask(hitOn('never answered'))
    void tally.ask(hitOn('flushed'))
    answers[7](new Error('NOSCRIPT No matching script. Please use EVAL.'))
    await new Promise(setImmediate)
    answers[8]('1,0,60000')
    await new Promise((resolve) => setTimeout(resolve, 1050))
    const late = tally.ask(hitOn('late'))
    answers[9]('4,0,60000')
    expect(await late).toEqual([4, 0, 60_000])
  })

  for (const [name, connect] of Object.entries(SINGLE)) {
    const connected = clientFor(connect, () => server.it.port)
    test(`is sent through ${name}`, async () => {
      const limiter = patientLimiter(five, redisStore(connected.it.client, { prefix: freshPrefix() }))
      await redis.it.call('SCRIPT', 'FLUSH')
      expect(await limiter.hit('ada')).toMatchObject({ allowed: true, remaining: 4 })
      expect(await limiter.get('ada')).toBe(1)
    })
  }
})

function figuresOf(answer: unknown): unknown {
  return typeof answer === 'object' ? JSON.parse(JSON.stringify(answer)) : answer
}
