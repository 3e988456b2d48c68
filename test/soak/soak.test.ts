import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { createLimiter, fixedWindow, gcra, type Limiter, memoryStore, type Rule, slidingLog, tokenBucket } from 'sluice'
import { fakeClock } from 'sluice/testing'
import { describe, expect, test } from 'vitest'
import { type Random, seededRandom } from '../../packages/sluice/src/testing/random.ts'
import { judgeLayers } from './layers-model.mjs'
import { keepsGrowing, MOST_GROWTH_BYTES } from './memory.mjs'
import { BucketModel, holdRemain, judge, LogModel, type Model, WindowModel } from './models.mjs'
import { Phases } from './phases.mjs'
import { levelsOff, minutesAsText } from './report.mjs'
import { FAULT_NAMES, makeSchedule } from './schedule.mjs'

interface Walked {
  readonly of: string
  readonly makeRule: (limit: number) => Rule
  readonly makeModel: () => Model
}

const WALKED: readonly Walked[] = [
  {
    of: 'a window on the clock',
    makeRule: (limit) => fixedWindow({ limit, window: 5000, anchor: 'clock' }),
    makeModel: () => new WindowModel({ limit: 50, windowMs: 5000, anchor: 'clock' }),
  },
  {
    of: 'a window from the first hit',
    makeRule: (limit) => fixedWindow({ limit, window: 2000 }),
    makeModel: () => new WindowModel({ limit: 50, windowMs: 2000, anchor: 'first-hit' }),
  },
  {
    of: 'a sliding log',
    makeRule: (limit) => slidingLog({ limit, window: 2000 }),
    makeModel: () => new LogModel({ limit: 50, windowMs: 2000 }),
  },
  {
    of: 'a token bucket',
    makeRule: (limit) => tokenBucket({ capacity: limit, refill: 20, every: 1000 }),
    makeModel: () => new BucketModel({ limit: 50, perMs: 20 / 1000 }),
  },
  {
    of: 'GCRA',
    makeRule: (limit) => gcra({ limit: 10, period: 1000, burst: limit }),
    makeModel: () => new BucketModel({ limit: 50, perMs: 10 / 1000 }),
  },
]

const STEPS = 200
const CLIENTS = 40

/** Walks clients of a limiter beside the model. Returns the first complaint. `hit` stands for the service. */
function firstComplaint(
  { makeRule, makeModel }: Walked,
  random: Random,
  { limit = 50, hit = (limiter: Limiter<'sync'>, key: string, cost: number) => limiter.hit(key, { cost }) } = {},
): string | undefined {
  const clock = fakeClock(1_763_193_637_123)
  const limiter = createLimiter({ rules: makeRule(limit), store: memoryStore({ clock }) })
  for (let client = 0; client < CLIENTS; client++) {
    const [key, model] = [`client-${client}`, makeModel()]
    for (let step = 0; step < STEPS; step++) {
      clock.advance(random.whole(0, 40))
      const fromMs = clock.now()
      clock.advance(random.whole(0, 4))
      const dice = random.whole(1, 100)
      const cost = random.pick([1, 1, 1, 2, 3, 7, 51])
      const answer = dice <= 90 ? hit(limiter, key, cost) : undefined
      if (dice > 90 && dice <= 96) limiter.refund(key, cost)
      if (dice > 96) limiter.reset(key)
      const left = limit - limiter.get(key)
      clock.advance(random.whole(0, 4))
      const span = { fromMs, toMs: clock.now() }
      if (!model.advance(span)) break
      if (dice > 90 && dice <= 96) model.refund(cost)
      if (dice > 96) model.reset()
      const complaint =
        answer === undefined
          ? holdRemain(model, left)
          : judge(model, cost, span, { allowed: answer.allowed, limit: answer.limit, remain: answer.remaining })
      if (complaint !== undefined) return `SEED=${random.seed}, ${key}, step ${step}: ${complaint}`
    }
  }
  return undefined
}

describe.each(WALKED)('the model of $of', (walked) => {
  test('has no complaint about the rule itself', () => {
    expect(firstComplaint(walked, seededRandom())).toBeUndefined()
  })

  test('finds one unit of fifty too many', () => {
    // The service reports the requested limit.
    const hit = (limiter: Limiter<'sync'>, key: string, cost: number) => ({ ...limiter.hit(key, { cost }), limit: 50 })
    expect(firstComplaint(walked, seededRandom(), { limit: 51, hit: hit as never })).toMatch(/left|allowed/)
  })

  test('finds a hit in fifty that is not counted', () => {
    const dice = seededRandom()
    const hit = (limiter: Limiter<'sync'>, key: string, cost: number) =>
      dice.whole(1, 50) === 1 ? limiter.peek(key, { cost }) : limiter.hit(key, { cost })
    expect(firstComplaint(walked, seededRandom(), { hit })).toMatch(/left|allowed/)
  })

  test('finds a hit in fifty that is counted twice', () => {
    const dice = seededRandom()
    const hit = (limiter: Limiter<'sync'>, key: string, cost: number) => {
      if (dice.whole(1, 50) === 1) limiter.hit(key, { cost })
      return limiter.hit(key, { cost })
    }
    expect(firstComplaint(walked, seededRandom(), { hit })).toMatch(/left|denied/)
  })

  test('finds a fresh client that is denied', () => {
    const model = walked.makeModel()
    const span = { fromMs: 1_000_000, toMs: 1_000_001 }
    expect(model.advance(span)).toBe(true)
    expect(judge(model, 1, span, { allowed: false, limit: 50, remain: 50 })).toMatch(/denied/)
  })
})

describe('the model of layers', () => {
  const org = fixedWindow({ limit: 90, window: 3000, name: 'org', per: 'org' })
  const client = slidingLog({ limit: 50, window: 2000, name: 'client', per: 'client' })
  type Layered = Limiter<'sync', { org: string; client: string }>
  const hitAll = (both: Layered, subject: { org: string; client: string }, cost: number) => both.hit(subject, { cost })

  /** Walks three clients of many organisations. Returns the first complaint. `hit` stands for the service. */
  function firstComplaintOfLayers(random: Random, hit = hitAll): string | undefined {
    const clock = fakeClock(1_763_193_637_123)
    const both: Layered = createLimiter({ rules: [org, client], store: memoryStore({ clock }) })
    for (let nth = 0; nth < CLIENTS; nth++) {
      const ofOrg = new WindowModel({ limit: 90, windowMs: 3000, anchor: 'first-hit' })
      const ofClients = [0, 1, 2].map(() => new LogModel({ limit: 50, windowMs: 2000 }))
      for (let step = 0; step < STEPS; step++) {
        clock.advance(random.whole(0, 30))
        const i = random.whole(0, 2)
        const cost = random.pick([1, 1, 1, 2, 5])
        const fromMs = clock.now()
        clock.advance(random.whole(0, 4))
        const { allowed, limit, remaining, rule } = hit(both, { org: `${nth}`, client: `${nth}-${i}` }, cost)
        clock.advance(random.whole(0, 4))
        const span = { fromMs, toMs: clock.now() }
        const layers = new Map<string, Model>([
          ['org', ofOrg],
          ['client', ofClients[i]],
        ])
        if (![...layers.values()].every((model) => model.advance(span))) break
        const complaint = judgeLayers(layers, cost, span, { allowed, limit, remain: remaining, policy: rule })
        if (complaint !== undefined) return `SEED=${random.seed}, organisation ${nth}, step ${step}: ${complaint}`
      }
    }
    return undefined
  }

  test('has no complaint about one decision over two rules', () => {
    expect(firstComplaintOfLayers(seededRandom())).toBeUndefined()
  })

  test('finds a layer that is charged although another one denies', () => {
    const charging = (both: Layered, subject: { org: string; client: string }, cost: number) => {
      const decision = both.hit(subject, { cost })
      if (!decision.allowed) both.inc(subject, cost, { rule: decision.rule === 'org' ? 'client' : 'org' })
      return decision
    }
    expect(firstComplaintOfLayers(seededRandom(), charging)).toMatch(/left|denied/)
  })

  test('finds a layer that is left out', () => {
    const leaving = (both: Layered, subject: { org: string; client: string }, cost: number) =>
      both.hit(subject, { cost: { client: cost } })
    expect(firstComplaintOfLayers(seededRandom(), leaving)).toMatch(/left|allowed/)
  })

  test('finds an answer of a policy that does not apply', () => {
    expect(judgeLayers(new Map(), 1, { fromMs: 0, toMs: 1 }, { allowed: true, limit: 5, remain: 4, policy: 'other' })).toMatch(
      /other/,
    )
  })
})

describe('the schedule', () => {
  test('comes again with its seed, and another one with another', () => {
    const of = (seed: number) => JSON.stringify(makeSchedule(seededRandom(seed), 10))
    expect(of(1)).toBe(of(1))
    expect(of(1)).not.toBe(of(2))
  })

  test('has every fault, also in a minute', () => {
    for (let seed = 0; seed < 50; seed++) {
      const names = makeSchedule(seededRandom(seed), 1).map(({ name }) => name)
      expect([...new Set(names)].sort()).toEqual([...FAULT_NAMES].sort())
    }
  })

  test('leaves the first instance alone for long enough to watch its memory', () => {
    for (let seed = 0; seed < 50; seed++) {
      const schedule = makeSchedule(seededRandom(seed), 10)
      const late = schedule.slice(Math.ceil(schedule.length / 2))
      expect(late.every(({ target }) => target === 'b')).toBe(true)
    }
  })
})

describe('memory', () => {
  const MB = 2 ** 20
  const series = (length: number, at: (second: number) => number) =>
    Array.from({ length }, (_, second) => (100 + at(second) + 20 * ((second % 7) / 7)) * MB)

  test('that grows to the end does not level off', () => {
    expect(keepsGrowing(series(300, (second) => second / 5))).toBe(true)
  })

  test('that grows at first and then rests levels off', () => {
    expect(keepsGrowing(series(300, (second) => 60 * (1 - Math.exp(-second / 40))))).toBe(false)
  })

  test('that grows beyond all measure is found in a short soak', () => {
    expect(keepsGrowing(series(30, () => 0))).toBe(false)
    expect(keepsGrowing([100 * MB, 100 * MB + MOST_GROWTH_BYTES + 1])).toBe(true)
  })
})

test('the result on memory is open if every process was watched for too short a time', () => {
  const memoryOf = (length: number) => ({ id: 1, rss: Array.from({ length }, () => 2 ** 20), used: [] })
  expect(levelsOff([memoryOf(60)], 'rss')).toMatchObject({ isWrong: false, isUnknown: true })
  expect(levelsOff([memoryOf(60), memoryOf(300)], 'rss')).toMatchObject({ isWrong: false, isUnknown: false })
  const leaking = { id: 1, rss: [0, MOST_GROWTH_BYTES + 1], used: [] }
  expect(levelsOff([leaking], 'rss')).toMatchObject({ isWrong: true })
  expect([minutesAsText(1), minutesAsText(10)]).toEqual(['1 minute', '10 minutes'])
})

describe('complaints of a calm', () => {
  const endWith = (calm: { withoutStore: number; isStarved: boolean }) => {
    const phases = new Phases()
    phases.beginCalm()
    phases.complainOfCalm('answer', 'wrong')
    phases.endCalm('store-killed', calm)
    return phases.wrong.answer
  }

  test('count if the store decided everything, even on a busy machine', () => {
    expect(endWith({ withoutStore: 0, isStarved: true })).toBe(1)
  })

  test('are excused where a starved process made an instance answer without the store', () => {
    expect(endWith({ withoutStore: 1, isStarved: true })).toBe(0)
  })

  test('count twice where an instance left the store by itself', () => {
    expect(endWith({ withoutStore: 1, isStarved: false })).toBe(2)
  })
})

describe('the soak command', () => {
  const program = fileURLToPath(new URL('soak.mjs', import.meta.url))
  const open = (...args: string[]) => spawnSync(process.execPath, [program, ...args], { encoding: 'utf8' })

  test('explains itself', () => {
    expect(open('--help')).toMatchObject({ status: 0, stdout: expect.stringMatching(/npm run soak[\s\S]*store-emptied/) })
  })

  test.each([
    [['--minutes', '0'], '--minutes'],
    [['--minutes', 'ten'], 'ten'],
    [['--seed', '-1'], '--seed'],
    [['--only', 'earthquake'], 'earthquake'],
    [['--store', 'punch-cards'], 'punch-cards'],
    [['--fast'], '--fast'],
  ])('refuses %s, with exit code 2 and a reason', (args, reason) => {
    expect(open(...args)).toMatchObject({ status: 2, stderr: expect.stringContaining(reason) })
  })
})
