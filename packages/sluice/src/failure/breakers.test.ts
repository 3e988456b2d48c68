import { expect, test } from 'vitest'
import type { Call } from '../core/call.ts'
import { fakeClock } from '../testing/index.ts'
import { Breakers, BreakerView, type Entry } from './breakers.ts'

const AT_ONCE = { failures: 1, probeEveryMs: 100 }

/** A hit on the given keys. */
const on = (...keys: string[]): Call => ({ operation: 'hit', charges: keys.map((key, rule) => ({ rule, key, amount: 1 })) })

/** Breakers that open at once, over a store whose keys live where `homes` says. */
function breakers(homes: Record<string, string>) {
  const shared = new Breakers(fakeClock(), AT_ONCE)
  const makeView = () => new BreakerView(shared, ({ charges }) => charges.map(({ key }) => homes[key] ?? key))
  const view = makeView()
  const fail = (...keys: string[]) => {
    const entry = view.enter(on(...keys)) as Entry
    view.failed(entry, { answered: [], failed: entry.parts })
  }
  const answer = (...keys: string[]) => view.answered(view.enter(on(...keys)) as Entry)
  const isOpen = (key: string) => shared.of(homes[key] ?? key).isOpen
  return { shared, view, makeView, fail, answer, isOpen }
}

test('a part that fails closes none of the others, and an answer of another does not end its failure', () => {
  const { isOpen, fail, answer } = breakers({ ada: 'north', bob: 'south', eve: 'north' })
  fail('ada')
  expect(['ada', 'eve', 'bob'].map(isOpen)).toEqual([true, true, false])
  expect(answer('bob')).toBe(false)
  expect(isOpen('ada')).toBe(true)
})

test('the first answer of the part that had failed ends the failure, and only the first', () => {
  const { view, isOpen, fail, answer } = breakers({ ada: 'north', eve: 'north' })
  expect(answer('ada')).toBe(false)
  const early = view.enter(on('eve')) as Entry
  fail('ada')
  expect([view.answered(early), answer('ada')]).toEqual([true, false])
  expect(isOpen('ada')).toBe(false)
})

test('where another part has taken over, its first answer ends the failure', () => {
  const homes: Record<string, string> = { ada: 'north', bob: 'south', eve: 'west' }
  const { isOpen, fail, answer } = breakers(homes)
  fail('ada')
  homes.ada = 'south'
  expect(isOpen('ada')).toBe(false)
  expect([answer('eve'), answer('bob'), answer('ada')]).toEqual([false, true, false])
})

test('a call that needs several parts asks none of them while one is down, and leaves the others as they were', () => {
  const { view, isOpen, fail, answer } = breakers({})
  fail('north')
  expect(view.enter(on('south', 'north'))).toBeUndefined()
  expect(isOpen('south')).toBe(false)
  expect(answer('south')).toBe(false)
})

test('a call over several parts that may not ask gives back the one try that another part had granted', () => {
  const clock = fakeClock()
  const shared = new Breakers(clock, AT_ONCE)
  const view = new BreakerView(shared, ({ charges }) => charges.map(({ key }) => key))
  view.failed(view.enter(on('south')) as Entry, { answered: [], failed: ['south'] })
  clock.advance(50)
  view.failed(view.enter(on('north')) as Entry, { answered: [], failed: ['north'] })
  clock.advance(50)
  // South may be tried, north may not.
  expect(view.enter(on('south', 'north'))).toBeUndefined()
  expect(view.enter(on('south'))).toBeDefined()
})

test('a call that asked no part makes way at once for the next one that may try', () => {
  const clock = fakeClock()
  const view = new BreakerView(new Breakers(clock, AT_ONCE), ({ charges }) => charges.map(({ key }) => key))
  view.failed(view.enter(on('north')) as Entry, { answered: [], failed: ['north'] })
  clock.advance(100)
  view.left(view.enter(on('north')) as Entry)
  expect(view.enter(on('north'))).toBeDefined()
})

test('however many parts there have been, not all are remembered', () => {
  const { shared, fail, isOpen } = breakers({})
  fail('first')
  for (let i = 0; i < 1000; i++) shared.of(`part ${i}`)
  expect(isOpen('first')).toBe(false)
})

test('a limiter that was not let through reports the end too, at its own first answer', () => {
  const { view, makeView, fail } = breakers({ ada: 'north', bob: 'north' })
  const early = view.enter(on('ada')) as Entry
  const other = makeView()
  fail('ada')
  expect(other.enter(on('bob'))).toBeUndefined()
  expect(view.answered(early)).toBe(true)
  const entry = other.enter(on('bob')) as Entry
  expect([other.answered(entry), other.answered(entry)]).toEqual([true, false])
})

test('a call over several parts closes only those that failed it, and an answer of another does not end the failure', () => {
  const { view, isOpen, answer } = breakers({})
  view.failed(view.enter(on('south', 'north')) as Entry, { answered: [], failed: ['north'] })
  expect(['south', 'north'].map(isOpen)).toEqual([false, true])
  expect(answer('south')).toBe(false)
})

test('a part that says what is wrong ends its own failure, and not that of a part that has not answered', () => {
  const { view, isOpen, fail } = breakers({})
  const early = view.enter(on('south', 'north')) as Entry
  fail('north')
  expect(view.failed(early, { answered: ['south'], failed: [] })).toBe(false)
  expect(isOpen('north')).toBe(true)
})

test('a part that answered a call which another failed is closed by it, and the failure of that part has ended', () => {
  const { view, isOpen, fail } = breakers({})
  const early = view.enter(on('south', 'north')) as Entry
  fail('south')
  expect(view.failed(early, { answered: ['south'], failed: ['north'] })).toBe(true)
  expect(['south', 'north'].map(isOpen)).toEqual([false, true])
})

test('a call that asked no part blames none, and the recovery of the part that kept it from asking is reported', () => {
  const { view, isOpen, fail, makeView } = breakers({})
  const other = makeView()
  const early = other.enter(on('south', 'north')) as Entry
  const later = view.enter(on('north')) as Entry
  fail('north')
  other.left(early)
  expect(['south', 'north'].map(isOpen)).toEqual([false, true])
  expect(other.answered(other.enter(on('south')) as Entry)).toBe(false)
  view.answered(later)
  expect(other.answered(other.enter(on('north')) as Entry)).toBe(true)
})

test('a call that asked no part although none is open reports the recovery too', () => {
  const { view, answer } = breakers({})
  view.left(view.enter(on('north')) as Entry)
  expect([answer('north'), answer('north')]).toEqual([true, false])
})
