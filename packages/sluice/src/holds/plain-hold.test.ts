import { describe, expect, test } from 'vitest'
import type { Hold, ReserveOptions } from '../core/reserving.ts'
import type { Rule } from '../core/rule.ts'
import { concurrency, createLimiter, fixedWindow, holds, memoryStore, SluiceError, waitingLine } from '../index.ts'
import { everyRule, exampleRule } from '../testing/example-rules.ts'
import { definitionStore, fakeClock } from '../testing/index.ts'
import { type Random, seededRandom } from '../testing/random.ts'
import { PlainHold } from './plain-hold.ts'

const KEYS = ['ada', 'bob', 'cy', 'dan', 'eve']
const MOST = 4

/** Holds that a walk remembers. A forgotten one expires. */
const MOST_OPEN = 5

type Pair = readonly [tested: Hold<'sync'>, defined: Hold<'sync'>]

/** Makes the same calls on limiters over a memory store and over the definitions. Returns the number of holds of the short way. */
function walk(rules: Rule<undefined>, random: Random, steps: number): { readonly plain: number; readonly others: number } {
  const clock = fakeClock()
  const stores = [memoryStore({ clock }), definitionStore(clock)]
  const [tested, defined] = stores.map((store) => createLimiter({ rules, store, holds: holds({ most: MOST }) }))
  const open: Pair[] = []
  const counts = { plain: 0, others: 0 }
  for (let step = 0; step < steps; step++) {
    const where = `SEED=${random.seed}, step ${step}, ${rules.name}`
    clock.set(Math.max(0, clock.now() + randomMs(random, rules)))
    const key = random.pick(KEYS)
    const choice = random.whole(0, 9)
    if (choice < 4) {
      const options = randomOptions(random, rules)
      const pair = [tested, defined].map((limiter) => outcomeOf(() => limiter.reserve(key, options)))
      if (typeof pair[0] === 'string' || typeof pair[1] === 'string') {
        same(pair[0], pair[1], where)
        continue
      }
      const [one, other] = pair as unknown as Pair
      same(shown(one), shown(other), where)
      counts[one instanceof PlainHold ? 'plain' : 'others'] += 1
      if (open.length === MOST_OPEN) open.splice(random.whole(0, MOST_OPEN - 1), 1)
      open.push([one, other])
    } else if (choice < 8 && open.length > 0) {
      const used = random.pick([undefined, undefined, 0, 1, random.whole(0, 2 * rules.limit), { [rules.name]: 2 }])
      const ttl = random.whole(1, 2 * rules.windowMs)
      const end = random.pick<(hold: Hold<'sync'>) => unknown>([
        (hold) => hold.settle(used),
        (hold) => hold.settle(used),
        (hold) => hold.cancel(),
        (hold) => hold.extend(ttl),
      ])
      const [one, other] = random.pick(open)
      same([outcomeOf(() => end(one)), one.expiresAt], [outcomeOf(() => end(other)), other.expiresAt], where)
    } else if (choice === 8 && !rules.isHeld) {
      same(tested.hit(key), defined.hit(key), where)
    }
    same(tested.peek(key), defined.peek(key), where)
  }
  return counts
}

function same(got: unknown, expected: unknown, where: string): void {
  if (JSON.stringify(got) !== JSON.stringify(expected)) expect(got, where).toEqual(expected)
}

function randomMs(random: Random, { windowMs }: Rule): number {
  const isJump = random.whole(0, 30) === 0
  return random.pick([0, 0, 1, random.whole(0, 20), random.whole(0, Math.ceil(windowMs / 4)), isJump ? -windowMs : 3])
}

function randomOptions(random: Random, { limit, windowMs }: Rule): ReserveOptions {
  const hold = random.pick([1, 1, 2, random.whole(1, limit), limit + 1])
  const ttl = random.pick([undefined, 1, Math.ceil(windowMs / 3), windowMs, '2s' as const])
  return {
    hold,
    ...(ttl === undefined ? {} : { ttl }),
    ...(random.whole(0, 2) === 0 ? { expired: random.pick(['charge', 'release'] as const) } : {}),
    ...(random.whole(0, 9) === 0 ? { atLeast: 1 } : {}),
  }
}

/** Everything that a caller sees of a hold, except its token, which is random. */
function shown({ allowed, decision, granted, expiresAt }: Hold<'sync'>) {
  return { allowed, granted, expiresAt, decision }
}

function outcomeOf<V>(run: () => V): V | string {
  try {
    return run()
  } catch (error) {
    if (error instanceof SluiceError) return error.code
    throw error
  }
}

describe('a walk of reserves, settles, cancels and extends is that of the definition', () => {
  const rules = [...everyRule(), exampleRule('concurrency')] as readonly Rule<undefined>[]
  test.each(rules.map((rule) => [rule.name, rule] as const))('%s', (_, rule) => {
    const { plain, others } = walk(rule, seededRandom(), 500)
    if (rule.log === undefined) expect(plain).toBeGreaterThan(15)
    else expect(plain).toBe(0)
    expect(others).toBeGreaterThan(2)
  })
})

describe('a hold of the short way', () => {
  const rules = fixedWindow({ limit: 10, window: '1m', name: 'tokens' })
  const limiterOf = () => {
    const clock = fakeClock()
    return { clock, limiter: createLimiter({ rules, store: memoryStore({ clock }), holds: holds() }) }
  }
  const codeOf = (run: () => unknown): unknown => outcomeOf(run)

  /** Reserves once, so that the next holds are of the short way: the first call of a store seeds its hash. */
  const openOn = (limiter: ReturnType<typeof limiterOf>['limiter']) => {
    limiter.reserve('first', { hold: 1 }).cancel()
    const hold = limiter.reserve('ada', { hold: 4, ttl: '10s' })
    expect(hold).toBeInstanceOf(PlainHold)
    return hold
  }

  test('has a token, with which the hold ends once', () => {
    const { limiter } = limiterOf()
    const hold = openOn(limiter)
    const { token } = hold
    limiter.openHold(token).settle(3)
    expect(limiter.get('ada')).toBe(3)
    for (const end of [() => hold.settle(), () => hold.cancel(), () => hold.extend('1m'), () => limiter.openHold(token).cancel()])
      expect(codeOf(end)).toBe('ERR_HOLD')
    expect(hold.token).toBe(token)
  })

  test('that was extended ends at another time, and can be settled until then', () => {
    const { limiter, clock } = limiterOf()
    const hold = openOn(limiter)
    hold.extend('30s')
    expect(hold.expiresAt).toBe(clock.now() + 30_000)
    clock.advance(29_999)
    hold.settle(2)
    expect(limiter.get('ada')).toBe(2)
  })

  test('does not end on a closed limiter', () => {
    const { limiter } = limiterOf()
    const hold = openOn(limiter)
    limiter.close()
    for (const call of [() => hold.settle(), () => limiter.reserve('ada', { hold: 1 })]) expect(codeOf(call)).toBe('ERR_CLOSED')
  })

  test('is gone if its key was reset, also if another hold has its place', () => {
    const { limiter } = limiterOf()
    const hold = openOn(limiter)
    limiter.reset('ada')
    const other = limiter.reserve('bob', { hold: 5 })
    expect(codeOf(() => hold.settle())).toBe('ERR_HOLD')
    expect([limiter.get('ada'), limiter.get('bob')]).toEqual([0, 5])
    other.settle(1)
    expect(limiter.get('bob')).toBe(1)
  })

  test('is found after its table has grown and its rows have moved', () => {
    const { limiter } = limiterOf()
    const hold = openOn(limiter)
    const others = Array.from({ length: 3_000 }, (_, i) => limiter.reserve(`k${i}`, { hold: 2 }))
    hold.settle(3)
    for (const other of others) other.settle(1)
    expect([limiter.get('ada'), limiter.get('k7'), limiter.get('k2999')]).toEqual([3, 1, 1])
  })

  test('is cancelled by await using, unless it has ended', async () => {
    const { limiter } = limiterOf()
    const hold = openOn(limiter)
    await hold[Symbol.asyncDispose]()
    expect(limiter.get('ada')).toBe(0)
    const settled = limiter.reserve('ada', { hold: 4 })
    settled.settle()
    await settled[Symbol.asyncDispose]()
    expect(limiter.get('ada')).toBe(4)
  })

  test('of a concurrency rule needs no units, and the options are checked as ever', () => {
    const clock = fakeClock()
    const limiter = createLimiter({ rules: concurrency({ limit: 2, ttl: '30s' }), store: memoryStore({ clock }), holds: holds() })
    limiter.reserve('k').cancel()
    expect(limiter.reserve('k')).toBeInstanceOf(PlainHold)
    for (const options of [[], null, 3, { hold: 1, until: 3 }, { ttl: 'soon' }, { expired: 'lost' }, { hold: 0 }])
      expect(
        codeOf(() => limiter.reserve('k', options as ReserveOptions)),
        JSON.stringify(options),
      ).toMatch(/^ERR_/)
    expect(codeOf(() => limiter.reserve('' as string))).toBe('ERR_KEY')
    expect(limiter.get('k')).toBe(1)
  })

  test('is not made for a limiter whose callers wait, because they hear of every settle', async () => {
    const clock = fakeClock()
    const limiter = createLimiter({ rules, store: memoryStore({ clock }), holds: holds(), waiting: waitingLine() })
    limiter.reserve('first', { hold: 1 }).cancel()
    const hold = limiter.reserve('ada', { hold: 10 })
    const waiting = limiter.reserve('ada', { hold: 10, maxWaitMs: 1_000 })
    hold.cancel()
    expect((await waiting).allowed).toBe(true)
  })
})
